//! Who may use whom inside the crates: arrows run downward, as `docs/architecture.md` draws them, and never in a circle.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of zion from the bottom up: each uses only those above it in this list.
const ROOMS: &[&str] = &[
    "error",
    "limits",
    "input",
    "pipeline",
    "simd",
    "ion",
    "times",
    "codec",
    "json",
    "bucket",
    "block",
    "value",
    "descriptors",
    "functions",
    "index",
    "chunk",
    "ingest",
    "pack",
    "scan",
    "aggregate",
    "profile",
    "search",
    "unpack",
    "verify",
];

/// So many modules a folder has at most.
const FOLDER_MODULES: usize = 25;

/// A word or a sign of a source, without comments, texts and tests.
type Token = String;

/// A module by its path inside the crate: `["pack", "feed"]`; the root is empty.
type ModulePath = Vec<String>;

/// What a source says of other modules.
#[derive(Default)]
struct Module {
    tokens: Vec<Token>,
    /// Names that `use` binds, and what they stand for; whether it is `pub use`.
    names: BTreeMap<String, (ModulePath, bool)>,
}

struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

/// Return the words and signs of a source; comments, texts and characters are left out.
fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = vec![];
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        at += if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(hashes) = raw_text(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = hashes + 2 + usize::from(rest.starts_with('b'));
            rest[start..].find(&end).map_or(rest.len(), |length| start + length + end.len())
        } else if bytes[at] == b'"' {
            text_length(rest.as_bytes())
        } else if bytes[at] == b'\'' {
            character_length(rest)
        } else if bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' {
            let end = |byte: u8| !(byte.is_ascii_alphanumeric() || byte == b'_');
            let length = rest.bytes().position(end).unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            let sign = rest.chars().next().unwrap_or(' ');
            if !sign.is_whitespace() {
                tokens.push(sign.to_string());
            }
            sign.len_utf8()
        };
    }
    tokens
}

/// Return the number of `#` of a raw text that begins here.
fn raw_text(rest: &str) -> Option<usize> {
    let raw = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = raw.bytes().take_while(|&byte| byte == b'#').count();
    raw[hashes..].starts_with('"').then_some(hashes)
}

fn text_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != b'"' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Return the length of a character in quotes, or of the quote of a lifetime.
fn character_length(rest: &str) -> usize {
    let mut inner = rest[1..].chars();
    match (inner.next(), inner.next()) {
        (Some('\\'), _) => rest[3..].find('\'').map_or(rest.len(), |end| 3 + end + 1),
        (Some(sign), Some('\'')) => 2 + sign.len_utf8(),
        _ => 1,
    }
}

/// Leave out what only tests have: `#[cfg(test)]` and the item behind it.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut code = vec![];
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].starts_with(&["#", "[", "cfg", "(", "test", ")", "]"].map(str::to_owned)) {
            let mut depth = 0;
            while at < tokens.len() {
                depth += i32::from(tokens[at] == "{") - i32::from(tokens[at] == "}");
                at += 1;
                if depth == 0 && (tokens[at - 1] == "}" || tokens[at - 1] == ";") {
                    break;
                }
            }
        } else {
            code.push(tokens[at].clone());
            at += 1;
        }
    }
    code
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

impl Module {
    /// Take the `use` statements out of the tokens, which keep all else.
    fn read_uses(&mut self, own: &[String], is_child: &dyn Fn(&str) -> bool) {
        let tokens = std::mem::take(&mut self.tokens);
        let mut at = 0;
        while at < tokens.len() {
            let begins = tokens[at] == "use"
                && (at == 0 || [";", "}", "{", "pub", ")", "]"].contains(&tokens[at - 1].as_str()));
            if !begins {
                self.tokens.push(tokens[at].clone());
                at += 1;
                continue;
            }
            let public = at > 0 && ["pub", ")"].contains(&tokens[at - 1].as_str());
            let end = at + tokens[at..].iter().position(|token| token == ";").unwrap_or(tokens.len() - at);
            let mut tree = &tokens[at + 1..end];
            self.read_tree(&mut tree, &[], public);
            at = end + 1;
        }
        let absolute = |path: &ModulePath| absolute(own, path, is_child);
        self.names.retain(|_, (path, _)| absolute(path).map(|full| *path = full).is_some());
    }

    fn read_tree(&mut self, tree: &mut &[Token], prefix: &[String], public: bool) {
        let mut path = prefix.to_vec();
        loop {
            match tree.first().map(String::as_str) {
                Some("::") => *tree = &tree[1..],
                Some("{") => {
                    *tree = &tree[1..];
                    while tree.first().is_some_and(|token| token != "}") {
                        self.read_tree(tree, &path, public);
                        if tree.first().is_some_and(|token| token == ",") {
                            *tree = &tree[1..];
                        }
                    }
                    *tree = tree.get(1..).unwrap_or_default();
                    return;
                }
                // All names of a module: no source but tests does that, and it binds none that could be followed.
                Some("*") => {
                    *tree = &tree[1..];
                    return;
                }
                Some("as") => {
                    self.names.insert(tree[1].clone(), (path, public));
                    *tree = &tree[2..];
                    return;
                }
                Some(word) if is_word(word) => {
                    path.push(word.to_owned());
                    *tree = &tree[1..];
                }
                _ => {
                    if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
                        path.pop();
                    }
                    if let Some(name) = path.last().cloned() {
                        self.names.insert(name, (path, public));
                    }
                    return;
                }
            }
        }
    }
}

/// Return a path from the root of the crate, or nothing if it leads out of the crate.
fn absolute(own: &[String], path: &[String], is_child: &dyn Fn(&str) -> bool) -> Option<ModulePath> {
    let first = path.first()?.as_str();
    if first == "crate" {
        return Some(path[1..].to_vec());
    }
    if !(first == "self" || first == "super" || is_child(first)) {
        return None;
    }
    let mut full = own.to_vec();
    let mut rest = path;
    while let [step, more @ ..] = rest {
        match step.as_str() {
            "self" => {}
            "super" => drop(full.pop()),
            _ => break,
        }
        rest = more;
    }
    full.extend_from_slice(rest);
    Some(full)
}

impl Crate {
    fn read(src: &Path) -> Result<Self, Box<dyn Error>> {
        let mut modules = vec![];
        let mut tests = HashSet::new();
        for file in sources_of(src)? {
            let path = file.strip_prefix(src)?.with_extension("");
            let mut path: ModulePath = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            path.pop_if(|last| last == "mod" || last == "lib");
            let all = tokens(&fs::read_to_string(&file)?);
            let code = without_tests(&all);
            let declared = |tokens: &[Token]| -> HashSet<Token> {
                tokens.windows(2).filter(|pair| pair[0] == "mod").map(|pair| pair[1].clone()).collect()
            };
            for name in declared(&all).difference(&declared(&code)) {
                tests.insert([path.as_slice(), std::slice::from_ref(name)].concat());
            }
            modules.push((path, code));
        }
        modules.retain(|(path, _)| !tests.contains(path));
        Ok(Self::of(modules))
    }

    /// Return a crate of modules with the words and signs of their code.
    fn of(sources: Vec<(ModulePath, Vec<Token>)>) -> Self {
        let all: HashSet<ModulePath> = sources.iter().map(|(path, _)| path.clone()).chain([vec![]]).collect();
        let modules = sources.into_iter().map(|(path, tokens)| {
            let mut module = Module { tokens, ..Module::default() };
            module.read_uses(&path, &|name| all.contains(&[path.as_slice(), &[name.to_owned()]].concat()));
            (path, module)
        });
        let mut modules: BTreeMap<ModulePath, Module> = modules.collect();
        modules.entry(vec![]).or_default();
        Self { modules }
    }

    /// Return the module in which an item is defined, by way of `pub use`; nothing if the path is that of a module.
    fn definition(&self, path: &[String], steps: usize) -> Option<ModulePath> {
        let mut module: ModulePath = vec![];
        for (at, name) in path.iter().enumerate() {
            let inner = [module.as_slice(), std::slice::from_ref(name)].concat();
            if self.modules.contains_key(&inner) {
                module = inner;
                continue;
            }
            let source = self.modules.get(&module)?;
            if let Some((stands_for, _)) = source.names.get(name).filter(|_| steps > 0) {
                let full = [stands_for.as_slice(), &path[at + 1..]].concat();
                return self.definition(&full, steps - 1);
            }
            return Some(module);
        }
        None
    }

    /// Return the modules whose items a module uses.
    fn used(&self, own: &ModulePath) -> BTreeSet<ModulePath> {
        let module = &self.modules[own];
        let is_child = |name: &str| self.modules.contains_key(&[own.as_slice(), &[name.to_owned()]].concat());
        let mut used = BTreeSet::new();
        for (name, (path, public)) in &module.names {
            if !public || module.tokens.contains(name) {
                used.extend(self.definition(path, 9));
            }
        }
        let mut at = 0;
        while at < module.tokens.len() {
            let mut path = vec![];
            while at < module.tokens.len() && is_word(&module.tokens[at]) {
                path.push(module.tokens[at].clone());
                at += 1;
                if module.tokens.get(at).is_none_or(|token| token != "::") {
                    break;
                }
                at += 1;
            }
            at += usize::from(path.is_empty());
            if path.len() < 2 {
                continue;
            }
            let full = match module.names.get(&path[0]) {
                Some((stands_for, _)) => Some([stands_for.as_slice(), &path[1..]].concat()),
                None => absolute(own, &path, &is_child),
            };
            used.extend(full.and_then(|full| self.definition(&full, 9)));
        }
        used.remove(own);
        // Kernels for one kind of processor work on the fields of what chooses them: they are a part of it.
        used.retain(|other| {
            !(own.starts_with(other) && own.last().is_some_and(|name| name.starts_with("x86")))
        });
        used
    }

    /// Return which modules each module uses.
    fn arrows(&self) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
        self.modules.keys().map(|module| (module.clone(), self.used(module))).collect()
    }

    /// Return the groups of modules that use each other in a circle.
    fn circles(&self) -> BTreeSet<Vec<String>> {
        let arrows = self.arrows();
        let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
            arrows.keys().map(|module| (module, reach(&arrows, module))).collect();
        let in_circles = reached.iter().filter(|(module, others)| others.contains(*module));
        let circle = |(module, others): (&&ModulePath, &BTreeSet<&ModulePath>)| -> Vec<String> {
            others
                .iter()
                .filter(|other| reached[*other].contains(module))
                .map(|path| path.join("::"))
                .collect()
        };
        in_circles.map(circle).collect()
    }
}

/// Return the modules that a module uses, and those that these use.
fn reach<'a>(
    arrows: &'a BTreeMap<ModulePath, BTreeSet<ModulePath>>,
    from: &'a ModulePath,
) -> BTreeSet<&'a ModulePath> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        open.extend(arrows[module].iter().filter(|&next| reached.insert(next)));
    }
    reached
}

fn sources_of(src: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = vec![];
    sources(src, &mut files)?;
    Ok(files)
}

fn sources(place: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if place.is_dir() {
        for entry in fs::read_dir(place)? {
            sources(&entry?.path(), files)?;
        }
    } else if place.extension().is_some_and(|ending| ending == "rs") {
        files.push(place.to_owned());
    }
    Ok(())
}

/// Return where the sources of both crates are.
fn crates() -> [PathBuf; 2] {
    let zion = Path::new(env!("CARGO_MANIFEST_DIR"));
    [zion.join("src"), zion.join("../py/src")]
}

#[test]
fn no_modules_use_each_other_in_a_circle() -> Result<(), Box<dyn Error>> {
    for src in crates() {
        let circles = Crate::read(&src)?.circles();
        assert!(circles.is_empty(), "{}: {circles:#?}", src.display());
    }
    Ok(())
}

#[test]
fn no_room_uses_one_that_is_not_above_it_in_the_list() -> Result<(), Box<dyn Error>> {
    let zion = Crate::read(&crates()[0])?;
    let floor =
        |module: &ModulePath| ROOMS.iter().position(|room| module.first().is_some_and(|name| name == room));
    let mut wrong = vec![];
    for (module, used) in zion.arrows() {
        assert!(module.is_empty() || floor(&module).is_some(), "{module:?} is in no room of the list");
        let upward = used.into_iter().filter(|other| floor(other) > floor(&module) && !module.is_empty());
        wrong.extend(upward.map(|other| format!("{} uses {}", module.join("::"), other.join("::"))));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn no_folder_has_too_many_modules() -> Result<(), Box<dyn Error>> {
    let mut sizes: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for file in sources_of(&crates()[0])? {
        *sizes.entry(file.parent().unwrap_or(&file).to_owned()).or_default() += 1;
    }
    assert!(sizes.len() > 20);
    sizes.retain(|_, size| *size > FOLDER_MODULES);
    assert!(sizes.is_empty(), "{sizes:#?}");
    Ok(())
}

/// A crate of a few sources, each with the path of its module.
fn crate_of(sources: &[(&str, &str)]) -> Crate {
    let modules = sources.iter().map(|(path, text)| {
        let path = path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        (path, without_tests(&tokens(text)))
    });
    Crate::of(modules.collect())
}

#[test]
fn circles_are_seen_through_names_and_facades() {
    let seen = |sources: &[(&str, &str)]| crate_of(sources).circles().into_iter().collect::<Vec<_>>();
    let circle = vec![vec!["a::x".to_owned(), "b".to_owned()]];
    let facade = ("a", "mod x; pub use x::X;");
    assert_eq!(
        seen(&[facade, ("a::x", "use crate::b::B; struct X(B);"), ("b", "use crate::a::X; struct B(X);")]),
        circle
    );
    assert_eq!(
        seen(&[facade, ("a::x", "use crate::b; struct X(b::B);"), ("b", "fn f() -> crate::a::X {}")]),
        circle
    );
    assert_eq!(
        seen(&[
            facade,
            ("a::x", "use crate::{b::{self as c}}; fn f() { c::f() }"),
            ("b", "use super::a::x; fn f() { x::X }")
        ]),
        circle
    );
    let test = "fn f() {} #[cfg(test)] mod tests { use crate::a::X; }";
    assert!(seen(&[facade, ("a::x", "use crate::b; struct X; fn g() { b::f() }"), ("b", test)]).is_empty());
    let text = "fn f() { \"crate::a::X\"; r#\"crate::a::X\"#; '\"'; /* crate::a::X */ } // crate::a::X";
    assert!(seen(&[facade, ("a::x", "use crate::b; struct X; fn g() { b::f() }"), ("b", text)]).is_empty());
}
