//! Replies of bounded size, because every byte that an assistant reads has a cost.

use serde_json::{Value as Json, json};

/// The maximum size of a reply in bytes.
pub(super) const BYTES_MAX: usize = 24_000;

/// Shortens the value until it fits. Long lists lose their middle, and long texts lose their end. A note at each cut
/// gives the removed amount.
pub(super) fn bounded(value: Json) -> Json {
    // The last pair of limits leaves no long list or text.
    const LIMITS: [(usize, usize); 7] =
        [(400, 8_000), (200, 4_000), (100, 2_000), (50, 1_000), (24, 500), (10, 200), (4, 80)];
    let fits = |value: &Json| value.to_string().len() <= BYTES_MAX;
    if fits(&value) {
        return value;
    }
    for (items, bytes) in LIMITS {
        let mut shorter = value.clone();
        shorten(&mut shorter, items, bytes);
        if fits(&shorter) {
            return shorter;
        }
    }
    json!({"error": "the answer is too large: ask for a part of it, such as a step, a task or an object"})
}

fn shorten(value: &mut Json, items_max: usize, bytes_max: usize) {
    match value {
        Json::Array(items) => {
            if items.len() > items_max {
                let left_out = items.len() - items_max;
                let (from, to) = (items_max / 2, items_max / 2 + left_out);
                items.splice(from..to, [json!({"left_out": left_out})]);
            }
            items.iter_mut().for_each(|item| shorten(item, items_max, bytes_max));
        }
        Json::Object(fields) => {
            fields.values_mut().for_each(|field| shorten(field, items_max, bytes_max));
        }
        Json::String(text) if text.len() > bytes_max => {
            let left_out = text.len() - bytes_max;
            let end = (0..=bytes_max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
            *text += &format!("… ({left_out} bytes more)");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_fits_is_not_changed_and_another_says_what_is_left_out() {
        let small = json!({"steps": [1, 2, 3], "text": "ä"});
        assert_eq!(bounded(small.clone()), small);
        let many: Vec<Json> = (0..10_000).map(|n| json!({"step": n})).collect();
        let shorter = bounded(json!({"steps": many}));
        assert!(shorter.to_string().len() <= BYTES_MAX);
        let steps = shorter["steps"].as_array().unwrap();
        assert_eq!((&steps[0]["step"], &steps.last().unwrap()["step"]), (&json!(0), &json!(9_999)));
        let left_out: Vec<u64> =
            steps.iter().filter_map(|step| step["left_out"].as_u64()).collect();
        assert_eq!(left_out, [10_000 - (steps.len() as u64 - 1)]);
        let text = bounded(json!({"text": "ä".repeat(20_000)}));
        assert!(text["text"].as_str().unwrap().ends_with("bytes more)"), "{text}");
        // An object with many fields cannot be shortened like a list.
        let fields: serde_json::Map<String, Json> =
            (0..9_000).map(|n| (n.to_string(), json!(n))).collect();
        assert!(bounded(Json::Object(fields))["error"].is_string());
    }
}
