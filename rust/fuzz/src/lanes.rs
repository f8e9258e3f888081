//! Blocks from outside, to lanes.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use zion::Result;
use zion::aggregate::{Call, Function, Groups, Key, Summary};
use zion::block::runs::{Block, Form, Next, Runs};
use zion::scan::{
    Constant, First, Inside, Lane, Letter, Op, Path, Pattern, Picks, Plan, Predicate, Ranking, Request, Sort,
    Step, Unnest, arranged,
};
use zion::value::number::Number;

use super::block;

const LETTERS: [&str; 12] = ["t", "n", "x", "s", "b", "u", "k", "j", "z", "l", "e", "r"];

/// Scans a block as `block` has it, for values of a path, of whole rows and of what is unnested; a predicate
/// can only take rows away.
pub fn check(data: &[u8]) -> Result<()> {
    let Some((block, form)) = block::read(data)? else { return Ok(()) };
    let path = vec![Step::Field("name".into())];
    let all = LETTERS.map(Letter::from_name).into_iter().collect::<Result<Vec<_>>>()?;
    let lane = |level: usize, path: &[Step], letter| Lane { level, path: path.to_vec(), letter };
    let inner = [Step::Field("name".into()), Step::Index(1), Step::Field("a".into())];
    let paths = [&path[..], &inner];
    let some: Vec<Lane> =
        paths.iter().flat_map(|path| all.iter().map(|&letter| lane(0, path, letter))).collect();
    let whole: Vec<Lane> = all.iter().map(|&letter| lane(0, &[], letter)).collect();
    let mut inside: Vec<Lane> =
        (1..3).flat_map(|level| all.iter().map(move |&l| lane(level, &[], l))).collect();
    inside.push(lane(1, &[], Letter::Name));
    let unnests = [
        Unnest { level: 0, path: vec![], inside: Inside::Fields },
        Unnest { level: 1, path: vec![], inside: Inside::Items },
    ];
    let predicate = Predicate::Or(vec![
        Predicate::Compare(path.clone(), Op::Greater, Constant::Number(Number::Int(1))),
        Predicate::Not(Box::new(Predicate::Like(path, Pattern::new("%a_", None)))),
    ]);
    let rows = scan(&block, form, Plan::new(&[], &some, None)?)?;
    summed(&block, form, Plan::new(&[], &some, None)?, rows)?;
    ranked(&block, form, &some, None)?;
    ranked(&block, form, &some, Some(&predicate))?;
    let passing = scan(&block, form, Plan::new(&[], &some, Some(&predicate))?)?;
    assert!(rows.is_none_or(|rows| passing.is_some_and(|passing| passing <= rows)), "a predicate adds rows");
    scan(&block, form, Plan::new(&[], &whole, Some(&predicate))?)?;
    scan(&block, form, Plan::new(&unnests, &inside, None)?)?;
    let counted = scan(&block, form, Plan::new(&[], &[], None)?)?;
    assert!(rows.is_none_or(|rows| counted == Some(rows)), "rows are counted otherwise");
    Ok(())
}

/// Sums up the rows by the value of a path: no row is in two groups.
fn summed(block: &Block, form: Form, plan: Plan, rows: Option<u64>) -> Result<()> {
    let call = |function, lane| Call { function, lane, filter: None };
    let calls = vec![
        call(Function::Rows, None),
        call(Function::Distinct, Some(LETTERS.len())),
        call(Function::Average, Some(0)),
        call(Function::Greatest, Some(0)),
        call(Function::Latest, Some(0)),
    ];
    let summary =
        Summary { keys: vec![Key { lane: 0, grain: None }], keeps: true, calls, most_bytes: 1 << 24 };
    let mut groups = Groups::new(&plan, &summary)?;
    let request = request(plan);
    let runs = request.gather(groups.clone())?;
    let whole = drain(runs, block, form, |more| {
        if let Some(more) = more {
            groups.join(more);
        }
        0
    })?;
    if whole.is_none() || groups.is_full() {
        return Ok(());
    }
    let mut answer = groups.finish();
    answer.sort(&[Sort { place: 0, descending: true, nulls_last: false }], usize::MAX);
    let (_, batches) = answer.batches(&[(0, Letter::Json), (1, Letter::Number)], 0)?;
    let counts = batches.iter().flat_map(|batch| batch.column(1).as_primitive::<Float64Type>().values());
    assert!(
        rows.is_none_or(|rows| counts.sum::<f64>() <= rows as f64),
        "groups have more rows than there are"
    );
    Ok(())
}

/// Finds the first rows by the value of a path, and makes them: they are there, each once.
fn ranked(block: &Block, form: Form, lanes: &[Lane], predicate: Option<&Predicate<Path>>) -> Result<()> {
    let plan = Plan::new(&[], lanes, predicate)?;
    let by = vec![Sort { place: 0, descending: true, nulls_last: false }];
    let mut first = First::new(&plan, &Ranking { by, most: 5, most_bytes: 1 << 24 })?;
    let runs = request(plan).gather(first.clone())?;
    let whole = drain(runs, block, form, |more| {
        if let Some(more) = more {
            first.join(more, |number| number);
        }
        0
    })?;
    if whole.is_none() || first.is_full() {
        return Ok(());
    }
    let numbers = first.finish();
    let (_, picks) = Picks::new(&numbers)?;
    // Lists are not shown as such.
    let is_shown = |lane: &&Lane| !matches!(lane.letter, Letter::Numbers | Letter::Keys);
    let shown: Vec<Lane> = lanes.iter().filter(is_shown).cloned().collect();
    let mut request = request(Plan::new(&[], &shown, None)?);
    request.picks = Some(Arc::new(picks));
    let (schema, mut made) = (Arc::clone(&request.plan.schema), Vec::new());
    drain(request.batches()?, block, form, |more| {
        made.extend(more);
        0
    })?;
    let rows = shown.iter().position(|lane| lane.letter == Letter::Row).unwrap_or_default();
    let found = arranged(&schema, &made, &numbers)?;
    assert_eq!(found.column(rows).as_primitive::<Int64Type>().values(), &numbers[..], "these are other rows");
    Ok(())
}

fn request(plan: Plan) -> Request {
    let (plan, looked) = (Arc::new(plan), Arc::default());
    Request {
        plan,
        picks: None,
        limit: None,
        threads: 1,
        batch_rows: 7,
        looked,
        filled: Arc::default(),
        origins: None,
    }
}

/// The number of rows that come out, if the block is good.
fn scan(block: &Block, form: Form, plan: Plan) -> Result<Option<u64>> {
    let has_columns = !plan.schema.fields().is_empty();
    let request = request(plan);
    if has_columns {
        let rows_of = |batches: Vec<RecordBatch>| batches.iter().map(|batch| batch.num_rows() as u64).sum();
        return drain(request.batches()?, block, form, rows_of);
    }
    drain(request.count()?, block, form, |rows| rows)
}

fn drain<R: Send + 'static>(
    mut runs: Runs<R>,
    block: &Block,
    form: Form,
    mut rows_of: impl FnMut(R) -> u64,
) -> Result<Option<u64>> {
    runs.push(Arc::clone(block), form, None)?;
    let mut rows = 0;
    loop {
        match runs.next(Duration::from_secs(1)) {
            Next::Ready(more) => rows += rows_of(more),
            Next::Pending => {}
            Next::Idle => return Ok(Some(rows)),
            Next::Failed(_) => return Ok(None),
        }
    }
}
