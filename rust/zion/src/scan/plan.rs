//! Which lanes are wanted, as a tree of paths that is walked once for each row.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::predicate::Predicate;
use crate::error::{Error, Result};
use crate::limits::MAX_STEPS;
use crate::value::number::WHOLE_DIGITS;

/// Numbers of columns, and of places in rows.
const MAX_LANES: usize = 100_000;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// The field of a struct.
    Field(Box<str>),
    /// The element of a list, counted from 0.
    Index(usize),
}

/// Steps from the row, or from an element, to a value.
pub type Path = Vec<Step>;

/// What a column holds of the value at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letter {
    /// The bit of its type, 0 when there is no value.
    Type,
    /// A number as a double.
    Number,
    /// A whole number, at most 2^64 away from 0.
    Integer,
    /// A whole number of 64 bits with a sign, where all are known to be that.
    Long,
    /// A string.
    Text,
    /// A boolean.
    Bool,
    /// A timestamp.
    Time,
    /// Its key.
    Key,
    /// Its key, but with the members of structs as they stand.
    Value,
    /// Its JSON text.
    Json,
    /// The number of elements or fields.
    Size,
    /// The elements of a list of numbers only.
    Numbers,
    /// The keys of the elements of a list.
    Keys,
    /// The name of the field that a level of fields stands at.
    Name,
    /// The number of the row.
    Row,
    /// The number of the row in its file.
    RowInFile,
    /// The name of the file of the row.
    File,
}

impl Letter {
    /// The letter of a name.
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "t" => Self::Type,
            "n" => Self::Number,
            "x" => Self::Integer,
            "i" => Self::Long,
            "s" => Self::Text,
            "b" => Self::Bool,
            "u" => Self::Time,
            "k" => Self::Key,
            "v" => Self::Value,
            "j" => Self::Json,
            "z" => Self::Size,
            "l" => Self::Numbers,
            "e" => Self::Keys,
            "name" => Self::Name,
            "r" => Self::Row,
            "row" => Self::RowInFile,
            "file" => Self::File,
            _ => {
                return Err(Error::argument(format!(
                    "lane {name:?}: one of t n x i s b u k v j z l e name r row file"
                )));
            }
        })
    }

    /// Whether it tells where a row stands, and nothing of what is in it.
    fn is_of_row(self) -> bool {
        matches!(self, Self::Row) || self.is_of_origin()
    }

    /// Whether it tells where a row comes from.
    pub(crate) fn is_of_origin(self) -> bool {
        matches!(self, Self::RowInFile | Self::File)
    }

    pub(crate) fn data_type(self) -> DataType {
        let list = |item| DataType::List(Arc::new(Field::new("item", item, true)));
        match self {
            Self::Type => DataType::UInt8,
            Self::Number => DataType::Float64,
            Self::Integer => DataType::Decimal128(WHOLE_DIGITS, 0),
            Self::Long | Self::Size | Self::Row | Self::RowInFile => DataType::Int64,
            Self::Bool => DataType::Boolean,
            Self::Time => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Text | Self::Key | Self::Value | Self::Json | Self::Name => DataType::Utf8,
            Self::File => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Self::Numbers => list(DataType::Float64),
            Self::Keys => list(DataType::Utf8),
        }
    }
}

/// A column that is wanted.
#[derive(Debug, Clone)]
pub struct Lane {
    /// 0 is the row; level k + 1 is what the k-th unnesting goes over.
    pub level: usize,
    /// From there to the value.
    pub path: Path,
    /// The part of the value.
    pub letter: Letter,
}

/// What is unnested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// The elements of a list.
    Items,
    /// The fields of a struct.
    Fields,
}

/// An unnesting: one row for each element or field, none where there are none.
#[derive(Debug, Clone)]
pub struct Unnest {
    /// The level of the list or struct.
    pub level: usize,
    /// From there to it.
    pub path: Path,
    /// Which of the two.
    pub inside: Inside,
}

/// A place in a row that something asks for.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) fields: Vec<(Box<str>, usize)>,
    /// Ascending.
    pub(crate) items: Vec<(usize, usize)>,
}

/// What is done with a level of unnesting.
#[derive(Debug)]
pub(crate) struct Level {
    /// Its nodes; the first is the row or the element itself.
    pub(crate) nodes: Range<usize>,
    /// The node that is unnested to make the level; none for rows.
    pub(crate) from: Option<(usize, Inside)>,
}

/// A column: the node that it looks at, and the part of its value.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) level: usize,
    pub(crate) node: usize,
    pub(crate) letter: Letter,
}

/// Lanes, unnestings and a predicate, checked and put together.
#[derive(Debug)]
pub struct Plan {
    pub(crate) nodes: Vec<Node>,
    pub(crate) levels: Vec<Level>,
    pub(crate) columns: Vec<Column>,
    pub(crate) predicate: Option<Predicate<usize>>,
    /// The top-level fields that are needed; none: all.
    pub(crate) fields: Option<Vec<Box<[u8]>>>,
    /// Those of the predicate.
    pub(crate) tested: Option<Vec<Box<[u8]>>>,
    /// The columns, `c0`, `c1` and so on.
    pub schema: SchemaRef,
}

impl Plan {
    /// Checks what is asked for, and puts it together.
    pub fn new(unnests: &[Unnest], lanes: &[Lane], predicate: Option<&Predicate<Path>>) -> Result<Self> {
        check(unnests, lanes)?;
        let mut nodes = Nodes(Vec::new());
        let (mut levels, mut columns) = (Vec::new(), Vec::new());
        let mut sources = vec![None; unnests.len()];
        let mut compiled = None;
        for level in 0..=unnests.len() {
            let root = nodes.root();
            if level == 0 {
                compiled = predicate.map(|all| all.map(&mut |path: &Path| nodes.place(root, path)));
            }
            for (number, lane) in lanes.iter().enumerate().filter(|(_, lane)| lane.level == level) {
                let node = if lane.is_free() { root } else { nodes.place(root, &lane.path) };
                columns.push((number, Column { level, node, letter: lane.letter }));
            }
            for (unnest, source) in unnests.iter().zip(&mut sources).filter(|(one, _)| one.level == level) {
                *source = Some((nodes.place(root, &unnest.path), unnest.inside));
            }
            let from = level.checked_sub(1).and_then(|before| sources[before]);
            levels.push(Level { nodes: root..nodes.0.len(), from });
        }
        columns.sort_by_key(|(number, _)| *number);
        let mut tested: Vec<&Path> = Vec::new();
        if let Some(all) = predicate {
            all.each(&mut |path| tested.push(path));
        }
        let shown = lanes.iter().filter(|lane| lane.level == 0 && !lane.is_free()).map(|lane| &lane.path);
        let opened = unnests.iter().filter(|unnest| unnest.level == 0).map(|unnest| &unnest.path);
        Ok(Self {
            nodes: nodes.0,
            levels,
            columns: columns.into_iter().map(|(_, column)| column).collect(),
            predicate: compiled,
            fields: needed(shown.chain(opened).chain(tested.iter().copied())),
            tested: needed(tested.iter().copied()),
            schema: schema(lanes),
        })
    }

    /// The node of a path from the row, if something is there that is asked for.
    pub(crate) fn node(&self, path: &[Step]) -> Option<usize> {
        path.iter().try_fold(0, |node, step| {
            let Node { fields, items } = self.nodes.get(node)?;
            match step {
                Step::Field(name) => fields.iter().find(|(known, _)| known == name).map(|(_, child)| *child),
                Step::Index(index) => items.iter().find(|(known, _)| known == index).map(|(_, child)| *child),
            }
        })
    }

    /// The nodes of the row that columns and unnestings look at.
    pub(crate) fn shown(&self) -> Vec<usize> {
        let is_asked = |column: &&Column| column.level == 0 && column.node > 0;
        let columns = self.columns.iter().filter(is_asked).map(|column| column.node);
        let of_row = self.levels.first().map_or(0..0, |level| level.nodes.clone());
        let opened = self.levels.iter().filter_map(|level| level.from).map(|(node, _)| node);
        columns.chain(opened.filter(|node| of_row.contains(node))).collect()
    }

    /// For each node of the row its path.
    pub(crate) fn paths(&self) -> Vec<Path> {
        let mut paths = vec![Path::new(); self.levels.first().map_or(0, |level| level.nodes.len())];
        // Nodes stand behind those that they lie in.
        for (at, node) in self.nodes.iter().enumerate().take(paths.len()) {
            let fields = node.fields.iter().map(|(name, child)| (Step::Field(name.clone()), *child));
            let items = node.items.iter().map(|&(index, child)| (Step::Index(index), child));
            for (step, child) in fields.chain(items) {
                let mut path = paths[at].clone();
                path.push(step);
                paths[child] = path;
            }
        }
        paths
    }

    /// Whether a column tells where rows come from.
    pub(crate) fn tells_origins(&self) -> bool {
        self.columns.iter().any(|column| column.letter.is_of_origin())
    }

    /// Whether rows need not be looked at to be counted.
    pub fn counts_all(&self) -> bool {
        self.predicate.is_none() && self.levels.len() == 1
    }
}

impl Lane {
    /// Whether nothing needs to be decoded for it.
    fn is_free(&self) -> bool {
        match self.letter {
            Letter::Name => true,
            letter if letter.is_of_row() => true,
            Letter::Type => self.level == 0 && self.path.is_empty(),
            _ => false,
        }
    }
}

/// The top-level fields that paths from the row go through; none: all.
fn needed<'a>(paths: impl Iterator<Item = &'a Path>) -> Option<Vec<Box<[u8]>>> {
    let mut fields: Vec<Box<[u8]>> = Vec::new();
    for path in paths {
        match path.first()? {
            Step::Field(name) => fields.push(name.as_bytes().into()),
            Step::Index(_) => {}
        }
    }
    fields.sort();
    fields.dedup();
    Some(fields)
}

fn schema(lanes: &[Lane]) -> SchemaRef {
    let column =
        |(number, lane): (usize, &Lane)| Field::new(format!("c{number}"), lane.letter.data_type(), true);
    Arc::new(Schema::new(lanes.iter().enumerate().map(column).collect::<Vec<_>>()))
}

fn check(unnests: &[Unnest], lanes: &[Lane]) -> Result<()> {
    for (number, unnest) in unnests.iter().enumerate() {
        if unnest.level > number {
            let message = format!("unnesting {number} goes over level {}, which comes later", unnest.level);
            return Err(Error::argument(message));
        }
    }
    for lane in lanes {
        let is_named = || unnests[..lane.level].last().is_some_and(|unnest| unnest.inside == Inside::Fields);
        if lane.level > unnests.len() {
            return Err(Error::argument(format!("a lane of level {}, which is not there", lane.level)));
        }
        if lane.letter == Letter::Name && !is_named() {
            return Err(Error::argument(format!("a name of level {}, which has none", lane.level)));
        }
    }
    let paths = lanes.iter().map(|lane| &lane.path).chain(unnests.iter().map(|unnest| &unnest.path));
    let longest = paths.map(Vec::len).max().unwrap_or(0);
    if longest > MAX_STEPS || unnests.len() > MAX_STEPS || lanes.len() > MAX_LANES {
        return Err(Error::argument(format!(
            "{} lanes, {} unnestings and paths of {longest} steps are too much",
            lanes.len(),
            unnests.len(),
        )));
    }
    Ok(())
}

/// The nodes of all levels.
struct Nodes(Vec<Node>);

impl Nodes {
    fn root(&mut self) -> usize {
        self.0.push(Node::default());
        self.0.len() - 1
    }

    /// The node at a path, which is made when it is not there.
    fn place(&mut self, from: usize, path: &[Step]) -> usize {
        path.iter().fold(from, |node, step| self.child(node, step))
    }

    fn child(&mut self, of: usize, step: &Step) -> usize {
        let fresh = self.0.len();
        let node = &mut self.0[of];
        match step {
            Step::Field(name) => {
                if let Some((_, known)) = node.fields.iter().find(|(known, _)| known == name) {
                    return *known;
                }
                node.fields.push((name.clone(), fresh));
            }
            Step::Index(index) => match node.items.binary_search_by_key(index, |(known, _)| *known) {
                Ok(place) => return node.items[place].1,
                Err(place) => node.items.insert(place, (*index, fresh)),
            },
        }
        self.root()
    }
}
