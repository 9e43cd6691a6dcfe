//! Reads functions from a compiler's assembly, and compares two of them.
//!
//! Reads the output of LLVM for ELF, Mach-O and COFF, as far as needed: the start and end of functions, and the lines
//! that are instructions. The reader does not interpret instructions.

use std::collections::BTreeMap;

/// An assembly file.
pub(crate) struct Assembly {
    /// The instructions of each function, and its labels, numbered from its start.
    functions: BTreeMap<String, Vec<String>>,
    /// Other names of functions, because the compiler merges equal functions.
    aliases: BTreeMap<String, String>,
}

impl Assembly {
    /// Reads the text of a file.
    pub(crate) fn parse(text: &str) -> Assembly {
        let mut assembly = Assembly { functions: BTreeMap::new(), aliases: BTreeMap::new() };
        let mut current: Option<Body> = None;
        for line in text.lines() {
            let code = without_comment(line);
            if let Some((alias, symbol)) = alias_in(code) {
                assembly.aliases.insert(alias.to_owned(), symbol.to_owned());
            } else if let Some(label) = code.strip_suffix(':') {
                if is_local(label) {
                    if let Some(body) = current.as_mut().filter(|_| !is_mark(label)) {
                        body.push(code);
                    }
                } else {
                    assembly.close(current.replace(Body::of(label)));
                }
            } else if matches!(code, ".cfi_endproc" | ".seh_endproc") {
                assembly.close(current.take());
            } else if !code.is_empty() && !code.starts_with('.') {
                if let Some(body) = &mut current {
                    body.push(code);
                }
            }
        }
        assembly.close(current);
        assembly
    }

    fn close(&mut self, body: Option<Body>) {
        if let Some(Body { symbol, lines, .. }) = body {
            self.functions.insert(symbol, lines);
        }
    }

    /// Compares the instructions of two functions. Returns both as text if they differ.
    ///
    /// # Panics
    /// If there is no function with this name, or several.
    pub(crate) fn compare(&self, one: &str, other: &str) -> Result<(), String> {
        let [one, other] = [one, other].map(|name| self.original(self.symbol(name)));
        let [lines, other_lines] = [one, other].map(|symbol| &self.functions[symbol]);
        if one == other || lines == other_lines {
            return Ok(());
        }
        let (lines, other_lines) = (lines.join("\n    "), other_lines.join("\n    "));
        Err(format!("{one}:\n    {lines}\n{other}:\n    {other_lines}"))
    }

    /// The symbol of the function with this name.
    fn symbol(&self, name: &str) -> &str {
        let symbols = self.functions.keys().chain(self.aliases.keys());
        let found: Vec<&String> = symbols.filter(|symbol| is_symbol_of(symbol, name)).collect();
        assert!(found.len() == 1, "functions named {name}: {found:?}");
        found[0]
    }

    fn original<'a>(&'a self, symbol: &'a str) -> &'a str {
        self.aliases.get(symbol).map_or(symbol, |original| self.original(original))
    }
}

/// A function being read.
struct Body {
    symbol: String,
    lines: Vec<String>,
    /// Labels, by first appearance.
    labels: Vec<String>,
}

impl Body {
    fn of(symbol: &str) -> Body {
        Body { symbol: symbol.to_owned(), lines: Vec::new(), labels: Vec::new() }
    }

    /// Adds a line, its local labels numbered and its white space evened out.
    fn push(&mut self, code: &str) {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
        let mut line = String::new();
        let mut rest = code;
        while let Some(first) = rest.chars().next() {
            let end = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (word, after) = rest.split_at(end);
            match word {
                _ if is_local(word) => line.push_str(&self.number(word)),
                _ if first.is_whitespace() && line.ends_with(' ') => {}
                _ if first.is_whitespace() => line.push(' '),
                _ => line.push_str(word),
            }
            rest = after;
        }
        self.lines.push(line);
    }

    fn number(&mut self, label: &str) -> String {
        let found = self.labels.iter().position(|other| other == label);
        let number = found.unwrap_or_else(|| {
            self.labels.push(label.to_owned());
            self.labels.len() - 1
        });
        format!("label{number}")
    }
}

/// The code of a line. A number sign begins a comment on some machines and a number on others, but
/// what a compiler comments on begins with a space.
fn without_comment(line: &str) -> &str {
    let line = line.trim();
    if line.starts_with('#') {
        return "";
    }
    line.split("# ").next().unwrap_or("").trim_end_matches('#').trim()
}

/// `a = b` and `.set a, b`.
fn alias_in(code: &str) -> Option<(&str, &str)> {
    let (alias, symbol) = match code.strip_prefix(".set") {
        Some(names) => names.split_once(',')?,
        None => code.split_once(" = ")?,
    };
    let (alias, symbol) = (alias.trim(), symbol.trim());
    let is_name = |name: &str| !name.is_empty() && !name.contains([' ', '-', '+']);
    (is_name(alias) && is_name(symbol)).then_some((alias, symbol))
}

/// Labels that are not symbols: `.LBB0_1`, and `LBB0_1` in Mach-O.
fn is_local(label: &str) -> bool {
    [".L", "LBB", "Ltmp", "Lfunc"].iter().any(|start| label.starts_with(start))
}

/// Labels that nothing jumps to.
fn is_mark(label: &str) -> bool {
    ["tmp", "func_"].iter().any(|mark| label.trim_start_matches(['.', 'L']).starts_with(mark))
}

/// Returns `true` if a mangled symbol belongs to a function with this name, but not to a closure in this function.
fn is_symbol_of(symbol: &str, name: &str) -> bool {
    let Some(at) = symbol.rfind(&format!("{}{name}", name.len())) else { return false };
    let after = &symbol[at + name.len().to_string().len() + name.len()..];
    let is_hash = after.starts_with("17h") && after.len() == 20 && after.ends_with('E');
    after.is_empty() || is_hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares two functions: `f` with this body, and `g` with that body.
    fn compare(f: &str, g: &str) -> Result<(), String> {
        let text = format!(
            "\t.type\t_ZN1c1f17h0123456789abcdefE,@function\n\
             _ZN1c1f17h0123456789abcdefE:\n\t.cfi_startproc\n{f}\
             .Lfunc_end0:\n\t.size\tx, .Lfunc_end0-x\n\t.cfi_endproc\n\
             _ZN1c1g17hfedcba9876543210E:\n\t.cfi_startproc\n{g}\
             .Lfunc_end1:\n\t.cfi_endproc\n"
        );
        Assembly::parse(&text).compare("f", "g")
    }

    #[test]
    fn labels_directives_and_comments_make_no_difference() {
        let f = "\tje\t.LBB0_2\n\t.p2align\t4\n.LBB0_1:\n\tjne\t.LBB0_1\n.LBB0_2:\n\tretq\n";
        let g = "\tje\t.LBB9_7 # why\n.LBB9_3:\n\tjne  .LBB9_3\n.LBB9_7:\n\tretq\n";
        assert_eq!(compare(f, g), Ok(()));
    }

    #[test]
    fn another_instruction_is_a_difference() {
        let f = "\tmovl\t$1, %eax\n\tretq\n";
        assert!(compare(f, "\tmovl\t$2, %eax\n\tretq\n").is_err());
        assert!(compare("\tmov\tx0, #1\n", "\tmov\tx0, #2\n").is_err());
        assert!(compare(f, "\tmovl\t$1, %eax\n\tnop\n\tretq\n").is_err());
        assert!(compare(f, "\tretq\n").is_err());
    }

    #[test]
    fn a_jump_to_another_place_is_a_difference() {
        let f = ".LBB0_1:\n\tnop\n.LBB0_2:\n\tjne\t.LBB0_1\n";
        let g = ".LBB1_1:\n\tnop\n.LBB1_2:\n\tjne\t.LBB1_2\n";
        assert!(compare(f, g).is_err());
    }

    #[test]
    fn functions_that_the_compiler_made_one_are_the_same() {
        let f = "_ZN1c1f17h0123456789abcdefE:\n\tretq\n\t.cfi_endproc\n";
        for alias in [
            "_ZN1c1g17hfedcba9876543210E = _ZN1c1f17h0123456789abcdefE\n",
            "\t.set\t_ZN1c1g17hfedcba9876543210E, _ZN1c1f17h0123456789abcdefE\n",
        ] {
            assert_eq!(Assembly::parse(&format!("{f}{alias}")).compare("f", "g"), Ok(()));
        }
    }

    #[test]
    fn a_function_is_found_by_its_whole_name() {
        assert!(is_symbol_of("_ZN1c3add17h0123456789abcdefE", "add"));
        assert!(is_symbol_of("_RNvNtCs1_1c1m3add", "add"));
        assert!(!is_symbol_of("_ZN1c8add_more17h0123456789abcdefE", "add"));
        assert!(!is_symbol_of(
            "_ZN1c3add28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
            "add"
        ));
    }
}
