use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Option<(i64, bool)> {
    all().read(text.as_bytes()).map(|found| (found.us, found.is_cut))
}

fn all() -> Times {
    Times { mode: Mode::All, ..Times::default() }
}

fn at(text: &str) -> i64 {
    timestamp::recognise(text.as_bytes()).unwrap_or_default()
}

#[test]
fn forms_that_can_be_read_in_one_way() {
    for text in [
        "2024-03-04T05:06:07Z",
        "2024-03-04t05:06:07z",
        "2024-03-04 05:06:07",
        "2024-03-04T05:06:07+0000",
        "2024-03-03T22:06:07-0700",
        "2024-03-04T07:06:07+02",
        "2024-03-04 07:06:07+02:00",
        "2024-03-04 05:06:07 UTC",
        "2024-03-04 05:06:07 GMT",
        "2024-03-04T05:06:07 Z",
        "2024-03-04 05:06:07 +0000 UTC",
        "2024-03-04 06:06:07 +0100 CET",
        "2024-03-04T06:06:07+01:00[Europe/Berlin]",
        "2024-03-04T05:06:07Z[UTC]",
        " 2024-03-04T05:06:07Z ",
        "20240304T050607Z",
        "20240304T050607",
        "2024/03/04 05:06:07",
        "2024/03/04 06:06:07 +0100",
        "2024-Mar-04 05:06:07",
        "04/Mar/2024:05:06:07 +0000",
        "04/Mar/2024:05:06:07",
        "04-Mar-2024 05:06:07",
        "Mon, 04 Mar 2024 05:06:07 GMT",
        "Mon, 4 Mar 2024 00:06:07 -0500",
        "Mon, 4 Mar 2024 00:06:07 EST",
        "Mon, 04-Mar-2024 05:06:07 GMT",
        "Mon, 04 Mar 2024 05:06:07 +0000 (UTC)",
        "4 Mar 2024 05:06:07 +0000",
        "04 Mar 2024 05:06:07",
        "Mon Mar  4 05:06:07 2024",
        "Mon Mar 4 05:06:07 2024",
        "Mon Mar 04 05:06:07 +0000 2024",
        "Mon Mar  4 05:06:07 UTC 2024",
        "Mar 4, 2024 @ 05:06:07",
        "Mar 04, 2024 5:06:07 AM",
        "Mar 4, 2024, 5:06:07 AM",
    ] {
        assert_eq!(read(text), Some((at("2024-03-04T05:06:07Z"), false)), "{text}");
    }
    for (text, expected, is_cut) in [
        ("2024-03-04 05:06:07,123", "2024-03-04T05:06:07.123Z", false),
        ("2024-03-04T05:06:07,123456Z", "2024-03-04T05:06:07.123456Z", false),
        ("2024-03-04T05:06:07.1234567890Z", "2024-03-04T05:06:07.123456Z", true),
        ("2024-03-04T05:06:07.1234560000Z", "2024-03-04T05:06:07.123456Z", false),
        ("2024-03-04T05:06:07.123456789Z", "2024-03-04T05:06:07.123456Z", true),
        ("20240304T050607.5Z", "2024-03-04T05:06:07.5Z", false),
        ("2024-03-04T05:06Z", "2024-03-04T05:06:00Z", false),
        ("2024-03-04T05:06", "2024-03-04T05:06:00Z", false),
        ("2024/03/04 05:06", "2024-03-04T05:06:00Z", false),
        ("2024-03-04T24:00:00Z", "2024-03-05T00:00:00Z", false),
        ("2024-03-04T05:06:60Z", "2024-03-04T05:07:00Z", false),
        ("Mar 4, 2024 12:06:07 PM", "2024-03-04T12:06:07Z", false),
        ("Mon Mar 04 05:06:07.25 2024", "2024-03-04T05:06:07.25Z", false),
        ("04-Mar-2024 05:06:07.123", "2024-03-04T05:06:07.123Z", false),
    ] {
        assert_eq!(read(text), Some((at(expected), is_cut)), "{text}");
    }
}

#[test]
fn other_texts_are_none() {
    for text in [
        "2024-03-04",
        "20240304",
        "2024",
        "12:00",
        "1709528767",
        "1709528767123456",
        "20240304050607",
        "01/02/2024 10:00",
        "03/04/2024 05:06:07 AM",
        "03-04-2024 05:06:07",
        "2024-02-30T05:06:07Z",
        "2023-02-29T05:06:07Z",
        "2024-13-04T05:06:07Z",
        "2024-03-04T25:00:00Z",
        "2024-03-04T24:00:01Z",
        "2024-03-04T05:60:00Z",
        "2024-03-04T05:06:07.Z",
        "2024-03-04T05:06:07[Europe/Berlin]",
        "2024-03-04 05:06:07 CET",
        "2024-03-04 05:06:07 and more",
        "2024-03-04T05:06:07+24:00",
        "2024-03-04T05:06:07+1",
        "2024-03/04 05:06:07",
        "2024-03-04T05",
        "Tue, 04 Mar 2024 05:06:07 GMT",
        "Tue Mar  4 05:06:07 2024",
        "Mar  4 05:06:07",
        "Mar 04 05:06:07 host app: text",
        "Mar 4, 2024 13:06:07 PM",
        "The quick brown fox 05:06:07",
        "0000-01-01T00:30:00+01:00",
        "192.168.100.200:8080",
        "2024-03-04-05-06-07",
        "1.2.3-2024-03-04T05:06:07Z",
        "",
        "               ",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn modes_and_zones() -> Result<()> {
    let berlin = Zone::new(vec![(0, 3600)])?;
    let with = |mode: &str, text: &str| {
        Times::new(mode, berlin.clone()).map(|times| times.read(text.as_bytes()).map(|found| found.us))
    };
    let us = Some(at("2024-03-04T04:06:07Z"));
    assert_eq!(with("all", "2024/03/04 05:06:07")?, us);
    assert_eq!(with("all", "2024-03-04 05:06:07+01")?, us);
    assert_eq!(with("rfc3339", "2024-03-04 05:06:07")?, us);
    assert_eq!(with("rfc3339", "2024-03-04 05:06:07+01:00")?, us);
    assert_eq!(with("rfc3339", "2024/03/04 05:06:07")?, None);
    assert_eq!(with("none", "2024-03-04 05:06:07")?, None);
    assert!(with("iso", "").is_err());
    Ok(())
}

#[test]
fn patterns() -> Result<()> {
    for (form, text, expected) in [
        ("%d/%m/%Y %H:%M", "01/02/2024 10:00", "2024-02-01T10:00:00Z"),
        ("%m/%d/%Y %I:%M:%S %p", "3/4/2024 5:06:07 PM", "2024-03-04T17:06:07Z"),
        ("%m/%d/%Y %I:%M:%S %p", "03/04/2024 12:06:07 am", "2024-03-04T00:06:07Z"),
        ("%d.%m.%y", "04.03.24", "2024-03-04T00:00:00Z"),
        ("%Y%m%d%H%M%S", "20240304050607", "2024-03-04T05:06:07Z"),
        ("%Y%m%d%H%M%S.%f%z", "20240304050607.250+0100", "2024-03-04T04:06:07.25Z"),
        ("%A, %d %B %Y %T %Z", "Monday, 04 March 2024 05:06:07 UTC", "2024-03-04T05:06:07Z"),
        ("%Y-%j", "2024-064", "2024-03-04T00:00:00Z"),
        ("%F", "2024-03-04", "2024-03-04T00:00:00Z"),
        ("%s.%f", "1709528767.25", "2024-03-04T05:06:07.25Z"),
        ("[%d/%b/%Y:%T %z]", "[04/Mar/2024:05:06:07 +0000]", "2024-03-04T05:06:07Z"),
    ] {
        let found = Pattern::new(form)?.read(text.as_bytes(), &Zone::default());
        assert_eq!(found.map(|found| found.us), Some(at(expected)), "{form} {text}");
    }
    for (form, text) in [
        ("%d/%m/%Y", "31/02/2024"),
        ("%d/%m/%Y", "01/02/2024 10:00"),
        ("%Y-%j", "2023-366"),
        ("%d/%m/%Y %H:%M", "01/02/2024 25:00"),
        ("%Y-%m-%d %Z", "2024-03-04 CET"),
    ] {
        assert_eq!(Pattern::new(form)?.read(text.as_bytes(), &Zone::default()), None, "{form} {text}");
    }
    for form in ["", "%H:%M", "%Y-%m", "%Q", "%d/%m/%Y %I:%M", "%Y-%m-%d %"] {
        assert!(Pattern::new(form).is_err(), "{form}");
    }
    Ok(())
}

proptest! {
    /// What the original reads is read alike, but for days that no month has.
    #[test]
    fn the_form_of_rfc_3339_stays_what_it_was(
        text in "[ ]?[0-9]{3}[1-9]-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])[T ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z| ?[+-]0[0-9]:[0-5][0-9])?[ ]?"
    ) {
        let found = all().read(text.as_bytes()).map(|found| found.us);
        prop_assert_eq!(found, timestamp::recognise(text.as_bytes()), "{}", text);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(text: Vec<u8>, form in "(%[YymdebBHIMSfpzZasTDFRjn%]|[ /:.])*") {
        let _ = all().read(&text);
        if let Ok(pattern) = Pattern::new(&form) {
            let _ = pattern.read(&text, &Zone::default());
        }
    }

    #[test]
    fn near_times_are_read_without_a_panic(
        text in "(Mon|Mar|04|2024|20240304T050607)[-/, :T]( ?(04|Mar|2024|05:06|05:06:07|[.,0-9]{0,12}|UTC|\\+02|\\[A\\])[-/, :T]?){0,6}"
    ) {
        let _ = all().read(text.as_bytes());
    }
}
