//! A reader of records, with what is hard to tell apart in Rust.
#![allow(dead_code)]

use std::collections::HashMap; // of names

/// Reads records.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    name: &'a str, /* not // empty */
    open: bool,
    counts: HashMap<char, u32>,
}

impl<'a> Reader<'a> {
    /// Opens a reader. /* in a comment /* in another */ */
    pub fn new(name: &'a str) -> Self {
        let quote = '"'; // a quote
        let tick = '\'';
        let byte = b'/';
        let raw = r#"raw "text" // stays"#;
        let bytes = br##"a "# b"##;
        let long = "one \
            // two /* three";
        let r#type = 'r';
        'outer: loop {
            /* a /* nested */ comment */
            if raw.len() > bytes.len() + long.len() { break 'outer; } else { break }
        }
        let mut counts = HashMap::new();
        for c in [quote, tick, byte as char, r#type, 'é', '\u{1F600}'] {
            *counts.entry(c).or_insert(0) += 1;
        }
        Reader { name, open: true, counts }
    }

    fn ratio(&self, a: f64) -> f64 { a / 2.0 / 1.0e3 } // no comment before here
}

macro_rules! say { ($($x:tt)*) => { println!("// {}", stringify!($($x)*)) }; }
