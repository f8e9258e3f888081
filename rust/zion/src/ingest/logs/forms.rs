//! The ready forms of lines: what each looks like, and what its fields are. A new one is an entry here, a name in
//! `sdb/formats.py` and a row in `docs/inputs.md`.

/// A form of lines, by its name.
pub(super) struct LineForm {
    pub name: &'static str,
    pub shape: Shape,
    /// What the start of its lines looks like; empty: its patterns say it.
    pub looks: &'static str,
}

/// How records are taken apart. Fields are `name` for a text, or `name:kind` (`fields.rs`).
pub(super) enum Shape {
    /// Patterns, of which the first that matches counts, with the kinds of their groups.
    Patterns(&'static [&'static str], &'static str),
    /// The same, and lines that none of them matches belong to the record before them, in its `message`.
    Records(&'static [&'static str], &'static str),
    /// Words between spaces, also in quotes or brackets; `-` is no value.
    Words(&'static str),
    /// Code of its own, and the names of the fields that it always has.
    Own(&'static str),
}

/// A date and a time of day, with a fraction and a zone or not.
macro_rules! time {
    () => {
        r"(?P<time>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)"
    };
}

macro_rules! level {
    () => {
        r"(?P<level>(?i:TRACE|DEBUG|INFO|INFORMATION|NOTICE|WARN|WARNING|ERROR|SEVERE|FATAL|CRITICAL|CRIT|ALERT|EMERGENCY|CONFIG|FINE|FINER|FINEST))"
    };
}

const APACHE_ERROR: &[&str] = &[
    r"^\[(?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? \d{4})\] \[(?:(?P<module>[\w.-]*):)?(?P<level>[a-z]+\d?)\] (?:\[pid (?P<pid>\d+)(?::tid (?P<tid>\d+))?\] )?(?:\([^)]*\)[^:\[]*: )?(?:\[(?:client|remote) (?P<client>[^\]]*)\] )?(?:(?P<code>AH\d+): )?(?P<message>.*)",
];

const NGINX_ERROR: &[&str] = &[
    r#"^(?P<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) \[(?P<level>[a-z]+)\] (?P<pid>\d+)#(?P<tid>\d+): (?:\*(?P<connection>\d+) )?(?P<message>.*?)(?:, client: (?P<client>[^,]+))?(?:, server: (?P<server>[^,]*))?(?:, request: "(?P<request>(?:[^"\\]|\\.)*)")?(?:, subrequest: "(?P<subrequest>[^"]*)")?(?:, upstream: "(?P<upstream>[^"]*)")?(?:, host: "(?P<host>[^"]*)")?(?:, referrer: "(?P<referrer>[^"]*)")?$"#,
];

const JAVA: &[&str] = &[
    concat!(
        "^",
        time!(),
        " +",
        level!(),
        r" +(?P<pid>\d+) --- (?:\[(?P<app>[^\]]*)\] )?\[ *(?P<thread>[^\]]*)\] (?P<logger>\S+) *: ?(?P<message>.*)"
    ),
    concat!(
        "^",
        time!(),
        r" +\[(?P<thread>[^\]]*)\] +",
        level!(),
        r" +(?P<logger>[\w.$@/-]+?)(?::(?P<line>\d+))? *(?::| -+) (?P<message>.*)"
    ),
    concat!(
        "^",
        time!(),
        r"(?: -)? +\[?",
        level!(),
        r" *\]? +\[(?P<thread>[^\]]*)\] +(?:(?P<logger>[\w.$@/-]+?)(?::(?P<line>\d+))? *(?::| -+)|-) (?P<message>.*)"
    ),
    concat!(
        r"^\[",
        time!(),
        r"\]\[",
        level!(),
        r" *\]\[(?P<logger>[^\]]*?) *\] ?(?:\[(?P<node>[^\]]*)\] ?)?(?P<message>.*)"
    ),
    concat!(
        "^",
        time!(),
        " +",
        level!(),
        r" +(?P<logger>[\w.$]+\.[\w.$]+)(?::(?P<line>\d+))? *(?::| -+) (?P<message>.*)"
    ),
    // java.util.logging has the message on a second line.
    r"^(?P<time>[A-Z][a-z]{2} \d{1,2}, \d{4},? \d{1,2}:\d\d:\d\d [AP]M) (?P<logger>[\w.$]+)(?: (?P<method>[\w.$<>]+))?$",
];

const PYTHON: &[&str] = &[
    concat!("^", time!(), r" - (?P<logger>\S+) - ", level!(), " - (?P<message>.*)"),
    concat!(
        "^",
        time!(),
        r" \| ",
        level!(),
        r" *\| (?P<logger>[\w.<>]+):(?P<function>[\w<>]+):(?P<line>\d+) - (?P<message>.*)"
    ),
    concat!(r"^\[", time!(), ": ", level!(), r"/(?P<process>[^\]]+)\] (?P<message>.*)"),
    concat!(r"^\[", time!(), r"\] \[(?P<pid>\d+)\] \[", level!(), r"\] (?P<message>.*)"),
    concat!(
        "^",
        time!(),
        r" (?P<pid>\d+) ",
        level!(),
        r" (?P<database>\S+) (?P<logger>[\w.]+): (?P<message>.*)"
    ),
    concat!("^", time!(), r" +\[?", level!(), r"\]? +(?P<logger>[A-Za-z_][\w.]*): (?P<message>.*)"),
    concat!("^", level!(), r" ", time!(), r" (?P<logger>[\w.]+) (?P<pid>\d+) (?P<tid>\d+) (?P<message>.*)"),
    concat!("^", level!(), r":(?P<logger>[\w.]+):(?P<message>.*)"),
];

/// Other programs: a time, a level, a message.
const APP: &[&str] = &[
    concat!(r"^\[", time!(), r"\] +(?P<channel>[\w-]+)\.", level!(), r": (?P<message>.*)"),
    concat!(r"^\[", time!(), r"\] *\[?", level!(), r" *[\]:]? +(?P<message>.*)"),
    concat!("^", time!(), r",? *(?:[|-] *)?[\[(<]?", level!(), r" *[\])>]?(?: *[|:-])? +(?P<message>.*)"),
];

const POSTGRES: &[&str] = &[
    r"^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: (?:UTC|GMT|[+-]\d\d(?::?\d\d)?))?)(?: (?P<zone>[A-Z]{3,5}))? (?:\[(?P<pid>\d+)\]:? ?)(?:\[(?P<line>\d+)(?:-\d+)?\] ?)?(?:(?:user=)?(?P<user>[^\s,@=]*)(?:,db=|@)(?P<database>[^\s,]*)(?:,app=(?P<app>[^,]*?))?(?:,client=(?P<client>\S*))? )?(?P<level>DEBUG\d?|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC|DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LOCATION|BACKTRACE): +(?P<message>.*)",
];

const KLOG: &[&str] = &[
    r"^(?P<level>[IWEF])(?P<time>\d{4} \d\d:\d\d:\d\d(?:\.\d+)?) +(?P<pid>\d+) (?P<file>[^:\]\s]+):(?P<line>\d+)\] ?(?P<message>.*)",
];

const ALB: &str = "type time:time elb client:endpoint target:endpoint request_processing_time:number \
    target_processing_time:number response_processing_time:number elb_status_code:int target_status_code:int \
    received_bytes:int sent_bytes:int request:request agent ssl_cipher ssl_protocol target_group_arn trace_id \
    domain_name chosen_cert_arn matched_rule_priority:int request_creation_time:time actions_executed \
    redirect_url error_reason target_list target_status_code_list classification classification_reason \
    conn_trace_id";

const ELB: &str = "time:time elb client:endpoint backend:endpoint request_processing_time:number \
    backend_processing_time:number response_processing_time:number elb_status_code:int backend_status_code:int \
    received_bytes:int sent_bytes:int request:request agent ssl_cipher ssl_protocol";

const S3: &str = "bucket_owner bucket time:time remote_ip requester request_id operation key request:request \
    status:int error_code bytes_sent:int object_size:int total_time:int turn_around_time:int referer agent \
    version_id host_id signature_version cipher_suite authentication_type host_header tls_version \
    access_point_arn acl_required source_region";

const VPC: &str = "version:int account_id interface_id srcaddr dstaddr srcport:int dstport:int protocol:int \
    packets:int bytes:int start:seconds end:seconds action log_status";

/// All of them; of two that a text may be the first counts.
pub(super) const FORMS: &[LineForm] = &[
    LineForm { name: "journald", shape: Shape::Own("__CURSOR __REALTIME_TIMESTAMP"), looks: r"^__CURSOR=" },
    LineForm {
        name: "cef",
        shape: Shape::Own("time host version vendor product device_version signature name severity"),
        looks: r"^(?:[^{\[].{0,100} )?CEF:\d+\|(?:[^|\\]|\\.)*\|",
    },
    LineForm {
        name: "leef",
        shape: Shape::Own("time host version vendor product device_version event_id"),
        looks: r"^(?:[^{\[].{0,100} )?LEEF:\d\.\d\|[^|]*\|",
    },
    LineForm {
        name: "auditd",
        shape: Shape::Own("node type time serial"),
        looks: r"^(?:node=\S+ )?type=\S+ msg=audit\(\d+\.\d+:\d+\)",
    },
    LineForm {
        name: "alb",
        shape: Shape::Words(ALB),
        looks: r"^(?:https?|h2|grpcs|wss?) \d{4}-\d\d-\d\dT\S+Z \S+ \S+ ",
    },
    LineForm {
        name: "elb",
        shape: Shape::Words(ELB),
        looks: r"^\d{4}-\d\d-\d\dT\S+Z \S+ [\d.]+:\d+ (?:[\d.]+:\d+|-) [\d.-]+ [\d.-]+ [\d.-]+ (?:\d+|-) ",
    },
    LineForm {
        name: "s3-access",
        shape: Shape::Words(S3),
        looks: r"^[0-9a-f]{64} \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:[\d:]{8} [+-]\d{4}\] ",
    },
    LineForm {
        name: "vpc-flow",
        shape: Shape::Words(VPC),
        looks: r"^(?:version [a-z -]*\b(?:srcaddr|interface-id)\b|\d+ (?:\d{12}|unknown) eni-[0-9a-f]+ )",
    },
    LineForm {
        name: "apache-error",
        shape: Shape::Records(APACHE_ERROR, "time:time pid:int tid:int"),
        looks: "",
    },
    LineForm {
        name: "nginx-error",
        shape: Shape::Patterns(NGINX_ERROR, "time:time pid:int tid:int connection:int"),
        looks: "",
    },
    LineForm { name: "postgres", shape: Shape::Records(POSTGRES, "time:time pid:int line:int"), looks: "" },
    LineForm { name: "klog", shape: Shape::Records(KLOG, "time:yearless pid:int line:int"), looks: "" },
    LineForm {
        name: "combined",
        shape: Shape::Own("host identity user time method path protocol status bytes referer agent"),
        looks: r#"^\S+ .*\[\d\d/[A-Z][a-z]{2}/\d{4}:[\d:]{8} [+-]\d{4}\] ""#,
    },
    LineForm { name: "java", shape: Shape::Records(JAVA, "time:time pid:int line:int"), looks: "" },
    LineForm {
        name: "python",
        shape: Shape::Records(PYTHON, "time:time pid:int tid:int line:int"),
        looks: "",
    },
    LineForm { name: "app", shape: Shape::Records(APP, "time:time"), looks: "" },
    LineForm {
        name: "syslog",
        shape: Shape::Own("facility severity time host app pid msgid data message"),
        looks: r"^(?:(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]?\d (?:\d{4} )?[\d:]{8}[ .]|<\d{1,3}>(?:1 )?(?:\d{4}-\d\d-\d\dT\S+|-) \S+ \S+|\d{4}-\d\d-\d\dT\S+ \S+ [\w/.-]+(?:\[\d+\])?: )",
    },
    LineForm {
        name: "logfmt",
        shape: Shape::Own(""),
        looks: r#"^[\w.]+=("(\\.|[^"\\])*"|\S*)( +[\w.-]+(=("(\\.|[^"\\])*"|\S*))?)+$"#,
    },
];
