//! Which file of a crate uses which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::parse::{Import, Source, parse};

/// The files that each file uses, all relative to the folder of the crate's root.
pub(crate) type Uses = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// Finds what the files below the crate's root file use of each other.
///
/// A path leads to the file that defines its item: re-exports are followed, and a file that only
/// re-exports an item does not use it.
pub(crate) fn uses(root: &Path) -> Uses {
    let mut tree = Tree { folder: root.parent().unwrap().to_owned(), modules: Vec::new() };
    tree.read(root, None);
    tree.uses()
}

/// The module tree of a crate; module 0 is its root.
struct Tree {
    folder: PathBuf,
    modules: Vec<Module>,
}

struct Module {
    file: PathBuf,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    source: Source,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// An item, by the module that defines it.
    Item(usize),
}

impl Tree {
    fn read(&mut self, file: &Path, parent: Option<usize>) -> usize {
        let source = std::fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.add(file, parent, parse(&source), &folder_of_children(file, parent.is_none()))
    }

    /// Adds a module and all below it, whose files are in `folder`.
    fn add(
        &mut self,
        file: &Path,
        parent: Option<usize>,
        mut source: Source,
        folder: &Path,
    ) -> usize {
        let (files, inline) =
            (std::mem::take(&mut source.files), std::mem::take(&mut source.inline));
        let module = self.modules.len();
        let relative = file.strip_prefix(&self.folder).unwrap_or(file).to_owned();
        self.modules.push(Module { file: relative, parent, children: BTreeMap::new(), source });
        for (name, path) in files {
            let flat = folder.join(format!("{name}.rs"));
            let child_file = match path {
                Some(path) => file.parent().unwrap().join(path),
                None if flat.exists() => flat,
                None => folder.join(&name).join("mod.rs"),
            };
            let child = self.read(&child_file, Some(module));
            self.modules[module].children.insert(name, child);
        }
        for (name, source) in inline {
            let child = self.add(file, Some(module), source, &folder.join(&name));
            self.modules[module].children.insert(name, child);
        }
        module
    }

    fn uses(&self) -> Uses {
        let mut uses: Uses =
            self.modules.iter().map(|module| (module.file.clone(), BTreeSet::new())).collect();
        for (module, content) in self.modules.iter().enumerate() {
            let source = &content.source;
            let imports = source.imports.iter().filter(|import| is_used(import, source));
            let imported = imports.filter_map(|import| match self.resolve(module, &import.path) {
                // Naming a module uses nothing in it; the paths that begin with it do.
                Some(Target::Module(target)) if import.name == "*" => Some(target),
                Some(Target::Module(_)) | None => None,
                Some(Target::Item(target)) => Some(target),
            });
            let named = source.paths.iter().filter_map(|path| match self.resolve(module, path) {
                Some(Target::Item(target)) => Some(target),
                _ => None,
            });
            let used = uses.get_mut(&content.file).unwrap();
            used.extend(imported.chain(named).map(|target| self.modules[target].file.clone()));
            used.remove(&content.file);
        }
        uses
    }

    /// Follows a path from a module; `None` if it leads out of the crate.
    fn resolve(&self, from: usize, path: &[String]) -> Option<Target> {
        self.resolve_within(from, path, 0)
    }

    /// `depth` bounds the imports that are followed, since they may be circular.
    fn resolve_within(&self, from: usize, path: &[String], depth: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => 0,
            "self" => from,
            "super" => self.modules[from].parent?,
            name if self.modules[from].children.contains_key(name) => {
                return self.walk(from, path, depth);
            }
            name => {
                let import = self.import(from, name)?;
                // An import whose name is that of a crate would lead to itself.
                if depth > 8 || import.path == [name] {
                    return None;
                }
                let path = [&import.path, rest].concat();
                return self.resolve_within(from, &path, depth + 1);
            }
        };
        self.walk(start, rest, depth)
    }

    /// Follows the segments below a module.
    fn walk(&self, module: usize, path: &[String], depth: usize) -> Option<Target> {
        let Some((first, rest)) = path.split_first() else { return Some(Target::Module(module)) };
        let content = &self.modules[module];
        if first == "super" {
            return self.walk(content.parent?, rest, depth);
        }
        let is_item = content.source.items.contains(first);
        match content.children.get(first) {
            Some(&child) if !rest.is_empty() || !is_item => return self.walk(child, rest, depth),
            _ if is_item || depth > 8 => return Some(Target::Item(module)),
            _ => {}
        }
        if let Some(import) = self.import(module, first) {
            let path = [&import.path, rest].concat();
            return self.resolve_within(module, &path, depth + 1);
        }
        let globs = content.source.imports.iter().filter(|import| import.name == "*");
        let behind_glob = globs.filter_map(|glob| {
            let Some(Target::Module(target)) = self.resolve_within(module, &glob.path, depth + 1)
            else {
                return None;
            };
            let found = self.modules[target].source.items.contains(first);
            found.then_some(Target::Item(target))
        });
        Some(behind_glob.into_iter().next().unwrap_or(Target::Item(module)))
    }

    fn import(&self, module: usize, name: &str) -> Option<&Import> {
        self.modules[module].source.imports.iter().find(|import| import.name == name)
    }
}

/// Whether the module itself uses what it imports, and not only those that import it from there.
fn is_used(import: &Import, source: &Source) -> bool {
    !import.is_reexport || source.words.contains(&import.name)
}

/// Where the files of a file's modules are.
fn folder_of_children(file: &Path, is_root: bool) -> PathBuf {
    let folder = file.parent().unwrap();
    if is_root || file.ends_with("mod.rs") {
        folder.to_owned()
    } else {
        folder.join(file.file_stem().unwrap())
    }
}
