"""The operations of the service: what each method of each path takes, and answers.

Requests are checked by these descriptions, ``/openapi.json`` is made from them, and a test compares
docs/serve.md with them.
"""

from __future__ import annotations

from sdb.serve.described import Operation
from sdb.serve.forms import FORMS
from sdb.serve.queries import Body
from sdb.serve.seafowl.queries import SeafowlBody
from sdb.serve.tables import parameters as p

_FORMS = tuple(form.media_type.partition(";")[0] for form in FORMS)
_TABLE = "/v1/tables/{name}"
_IF_MATCH = {"If-Match": "the ETag of the table: the request is refused if that has changed"}
_KEY = {"Idempotency-Key": "a request with the same key is done once"}
_ENCODING = {"Content-Encoding": "`gzip` or `zstd`"}
_LABELS = {
    "Sdb-Author": "recorded in the version; else the name of the token",
    "Sdb-Message": "recorded in the version",
}
_ROWS = (
    "application/x-ndjson",
    "application/json",
    "text/csv",
    "text/tab-separated-values",
    "application/ion",
)
_CHANGES = (400, 403, 404, 408, 409, 412, 413, 415, 422, 429, 503)
_ASKS = (400, 404, 406, 413, 422, 503, 504)

QUERIES = (
    Operation(
        "GET", "/v1/query", "query", "Answer a query; caches may keep it.", "the rows",
        params=None, forms=_FORMS, errors=_ASKS, headers={"If-None-Match": "tags of known answers"},
    ),
    Operation(
        "QUERY", "/v1/query", "query", "Answer a query (RFC 10008).", "the rows",
        params=None, body=Body, forms=_FORMS, errors=(*_ASKS, 408, 415, 429),
    ),
    Operation(
        "POST", "/v1/query", "query", "Answer a query; no cache keeps it.", "the rows",
        params=None, body=Body, forms=_FORMS, errors=(*_ASKS, 408, 415, 429),
    ),
    Operation(
        "GET", "/v1/queries", "stored_queries", "List the stored queries that may be asked.",
        "the queries",
    ),
    Operation(
        "GET", "/v1/queries/{name}", "stored_query",
        "Answer a stored query; its parameters are members of the URL.", "the rows", params=None,
        forms=_FORMS, errors=_ASKS, headers={"If-None-Match": "tags of known answers"},
    ),
    Operation(
        "DELETE", "/v1/running/{id}", "cancel", "Stop a query.", "it will stop",
        status=202, errors=(404,),
    ),
)  # fmt: skip

SEAFOWL = tuple(
    operation
    for start in ("", "/{database}")
    for operation in (
        Operation(
            "GET",
            f"{start}/q/{{query}}",
            "seafowl_get",
            "Answer a query by its SHA-256, as clients of Seafowl ask.",
            "the rows",
            params=None,
            headers={"X-Seafowl-Query": "the query, percent-encoded"},
            errors=_ASKS,
            has_plain_errors=True,
        ),
        Operation(
            "POST",
            f"{start}/q",
            "seafowl_post",
            "Run statements, as clients of Seafowl do.",
            "the rows",
            body=SeafowlBody,
            params=None,
            errors=(*_ASKS, 403, 408, 409, 429),
            has_plain_errors=True,
        ),
        Operation(
            "POST",
            f"{start}/upload/{{schema}}/{{table}}",
            "seafowl_upload",
            "Insert the rows of a CSV or Parquet file, as clients of Seafowl do.",
            "the version that has the rows",
            params=None,
            bodies=("multipart/form-data",),
            forms=("text/plain",),
            errors=_CHANGES,
            has_plain_errors=True,
        ),
    )
)

DATABASES = (
    Operation("GET", "/v1/databases", "databases",
              "List the databases with tables that the token may read.", "the databases"),
    Operation("GET", "/v1/databases/{database}", "database",
              "Show a database: its tables, owner, steward and description.", "the database",
              errors=(400, 404)),
    Operation("PUT", "/v1/databases/{database}", "put_database",
              "Say whose a database is; a change of that needs its ETag in If-Match.",
              "the database", status=201, body=p.DatabaseBody,
              headers={"If-Match": "the ETag of the database"}, errors=(*_CHANGES, 428),
              leads_to=("get_database",)),
    Operation("GET", "/v1/search", "search",
              "Find tables, views and fields by a part of their names or descriptions.",
              "what was found", params=p.SearchParams, errors=(400,)),
)  # fmt: skip

DEFINITIONS = (
    Operation("PATCH", _TABLE, "describe", "Set the description and the steward of a table.",
              "both as they are now", body=p.DescriptionBody, errors=_CHANGES),
    Operation("GET", f"{_TABLE}/definition", "definition",
              "Show the definition of a table, to tokens that may change it.", "the definition",
              errors=(400, 403, 404, 422)),
    Operation("GET", f"{_TABLE}/schema", "schema", "Show the schema of a version.",
              "the schema; null: it has none", params=p.SchemaParams,
              errors=(400, 404, 422, 503, 504)),
    Operation("PUT", f"{_TABLE}/schema", "put_schema",
              "Set the schema of a table, or begin one that all rows conform to.",
              "the new version", body=p.SchemaBody, headers=_IF_MATCH,
              errors=(*_CHANGES, 428, 504)),
)  # fmt: skip

UPKEEP = (
    Operation("POST", f"{_TABLE}/fork", "fork", "Make a new table of a version.",
              "the new table", status=201, body=p.ForkBody, errors=(*_CHANGES, 504)),
    Operation("POST", f"{_TABLE}/push", "push",
              "Make a table below another root the same as a version, for admins.",
              "the table there", body=p.PushBody, errors=(*_CHANGES, 504)),
    Operation("POST", f"{_TABLE}/compact", "compact", "Merge small packfiles, for admins.",
              "what was merged", body=p.CompactBody, errors=(*_CHANGES, 504)),
    Operation("POST", f"{_TABLE}/maintain", "maintain",
              "Do for a table what there is to do now by its definition, for admins.",
              "what was done", body=p.MaintainBody, errors=(*_CHANGES, 504)),
    Operation("GET", "/v1/audit", "audit_log",
              "List requests that changed something or tried to, the newest first, for admins.",
              "the requests", params=p.AuditParams, errors=(400, 403)),
)  # fmt: skip

_TRANSACTION = "/v1/transactions/{id}"
TRANSACTIONS = (
    Operation("POST", "/v1/transactions", "begin",
              "Begin a transaction that lasts for several requests.", "the transaction",
              status=201, body=p.TransactionBody, errors=_CHANGES),
    Operation("GET", _TRANSACTION, "transaction", "Show what a transaction has staged.",
              "the transaction", errors=(404,)),
    Operation("POST", f"{_TRANSACTION}/rows", "stage_rows", "Stage the rows of a body.",
              "what was staged", status=201, params=p.StagedRowsParams, bodies=_ROWS,
              headers=_KEY | _ENCODING, errors=(*_CHANGES, 504)),
    Operation("POST", f"{_TRANSACTION}/files", "stage_files",
              "Stage the rows of files below the root, for admins.", "what was staged",
              status=201, body=p.StagedFilesBody, errors=(*_CHANGES, 504)),
    Operation("POST", f"{_TRANSACTION}/commit", "commit",
              "Commit a transaction: a version of each table that gets rows, all at once.",
              "the versions", body=p.CommitBody, errors=(*_CHANGES, 504)),
    Operation("DELETE", _TRANSACTION, "abort", "Abort a transaction.", "the transaction",
              errors=(404, 409, 412, 422)),
)  # fmt: skip

CATALOG = (
    Operation("GET", "/v1/tables", "tables", "List the tables that the token may read.",
              "the tables", params=p.TablesParams, errors=(400,)),
    Operation("GET", _TABLE, "table", "Describe a table; its ETag is the version.",
              "facts of the table", errors=(400, 404)),
    Operation("GET", "/v1/views", "views", "List the views that the token may read.",
              "the views", params=p.ViewsParams, errors=(400,)),
    Operation("GET", "/v1/views/{name}", "view", "Describe a view, with its versions.",
              "facts of the view", errors=(400, 404)),
    Operation("GET", f"{_TABLE}/versions", "versions", "List versions, the newest first.",
              "the versions", params=p.VersionsParams, errors=(400, 404)),
    Operation("GET", f"{_TABLE}/versions/{{version}}", "version",
              "Show what a version has changed.", "the version", errors=(400, 404)),
    Operation("GET", f"{_TABLE}/diff", "diff", "Compare two versions.", "the difference",
              params=p.DiffParams, errors=(400, 404, 422, 503, 504)),
    Operation("GET", f"{_TABLE}/fields", "fields", "List fields with their types.", "the fields",
              params=p.FieldsParams, errors=(400, 404)),
    Operation("GET", f"{_TABLE}/inputs", "inputs", "List the inputs that a table has taken.",
              "the inputs", params=p.InputsParams, errors=(400, 404)),
    Operation("GET", f"{_TABLE}/packfiles", "packfiles",
              "List the packfiles, and blocks, that can have rows: the plan as data.",
              "the packfiles", params=p.PackfilesParams, errors=(400, 404, 422)),
    Operation("GET", f"{_TABLE}/status", "table_status",
              "Report what a table needs, which command does it, and what is kept.", "its state",
              errors=(400, 404)),
    Operation("GET", f"{_TABLE}/timeline", "timeline",
              "Count rows by time from metadata: no row is read.",
              "the least and the most rows of each bucket", params=p.TimelineParams,
              errors=(400, 404, 422)),
    Operation("GET", f"{_TABLE}/hits", "hits", "Count rows by time, and by a field.",
              "rows with `time`, `value` and `rows`", params=p.HitsParams, forms=_FORMS,
              errors=(*_ASKS, 422)),
    Operation("GET", f"{_TABLE}/facets", "facets", "Find the most frequent values of fields.",
              "rows with `field`, `value` and `rows`", params=p.FacetsParams, forms=_FORMS,
              errors=_ASKS),
    Operation("GET", f"{_TABLE}/tail", "tail", "Send rows as they come (server-sent events).",
              "events with a row each", params=p.TailParams, forms=("text/event-stream",),
              errors=(400, 404, 422, 503), headers={"Last-Event-ID": "where to go on"}),
    Operation("GET", f"{_TABLE}/changes", "table_changes", "Wait for a version of a table.",
              "the versions since", params=p.TableChangesParams, errors=(400, 404)),
    Operation("GET", "/v1/changes", "changes", "Wait for versions of tables.",
              "the versions since", params=p.ChangesParams, errors=(400, 404)),
)  # fmt: skip

REFS = (
    Operation("GET", f"{_TABLE}/tags", "tags", "List tags.", "the tags", errors=(400, 404)),
    Operation("GET", f"{_TABLE}/tags/{{ref}}", "tag", "Show a tag; its ETag is the version.",
              "the tag", errors=(400, 404)),
    Operation("PUT", f"{_TABLE}/tags/{{ref}}", "put_tag",
              "Name a version. Moving a tag needs its ETag in If-Match.", "the tag", status=201,
              body=p.RefBody, headers=_IF_MATCH, errors=(*_CHANGES, 428),
              leads_to=("get_tag", "delete_tag")),
    Operation("DELETE", f"{_TABLE}/tags/{{ref}}", "delete_tag", "Delete a tag.", "it is gone",
              status=204, headers=_IF_MATCH, errors=(400, 403, 404, 409, 412, 428, 503)),
    Operation("GET", f"{_TABLE}/branches", "branches", "List branches.", "the branches",
              errors=(400, 404)),
    Operation("GET", f"{_TABLE}/branches/{{ref}}", "branch",
              "Show a branch; its ETag is the newest version.", "the branch", errors=(400, 404)),
    Operation("PUT", f"{_TABLE}/branches/{{ref}}", "put_branch", "Begin a branch.", "the branch",
              status=201, body=p.RefBody, errors=_CHANGES,
              leads_to=("get_branch", "delete_branch")),
    Operation("DELETE", f"{_TABLE}/branches/{{ref}}", "delete_branch", "Delete a branch.",
              "it is gone", status=204, headers=_IF_MATCH,
              errors=(400, 403, 404, 409, 412, 428, 503)),
    Operation("POST", f"{_TABLE}/restore", "restore",
              "Make the content of an old version new.", "the new version", body=p.RestoreBody,
              headers=_IF_MATCH, errors=(*_CHANGES, 428)),
    Operation("POST", f"{_TABLE}/promote", "promote",
              "Make the content of a branch, tag or version that of the table, or branch.",
              "the new version, and the one before", body=p.PromoteBody, headers=_IF_MATCH,
              errors=(*_CHANGES, 428)),
    Operation("POST", f"{_TABLE}/undo", "undo", "Take the last change back, by a new version.",
              "the new version", body=p.UndoBody, headers=_IF_MATCH, errors=(*_CHANGES, 428)),
    Operation("POST", f"{_TABLE}/merge", "merge", "Merge a branch into this one.",
              "the new version", body=p.MergeBody, headers=_IF_MATCH, errors=(*_CHANGES, 428)),
)  # fmt: skip

WRITES = (
    Operation("POST", f"{_TABLE}/rows", "rows", "Insert the rows of a body, all or none.",
              "the version that has the rows", status=201, params=p.RowsParams, bodies=_ROWS,
              headers=_IF_MATCH | _KEY | _ENCODING | _LABELS, errors=_CHANGES),
    Operation("POST", "/v1/exec", "statements", "Run statements that change tables.",
              "what each transaction has done", body=p.ExecBody, headers=_IF_MATCH | _KEY,
              errors=_CHANGES),
)  # fmt: skip

SERVICE = (
    Operation("GET", "/openapi.json", "openapi", "This description.", "an OpenAPI document"),
    Operation("GET", "/healthz", "healthy", "Tell whether the process runs.", "it runs",
              params=None, forms=("text/plain",), is_open=True),
    Operation("GET", "/readyz", "ready", "Tell whether the root answers.", "it does",
              params=None, forms=("text/plain",), errors=(503,), is_open=True),
    Operation("GET", "/metrics", "measured", "Metrics for Prometheus.", "the metrics",
              params=None, forms=("text/plain",), errors=(403,)),
)  # fmt: skip

SECTIONS = {
    "Queries": QUERIES,
    "Clients of Seafowl": SEAFOWL,
    "Databases": DATABASES,
    "Tables and versions": CATALOG,
    "Descriptions and schemas": DEFINITIONS,
    "Tags, branches, merges": REFS,
    "Rows and statements": WRITES,
    "Transactions over several requests": TRANSACTIONS,
    "Copies and upkeep": UPKEEP,
    "The service itself": SERVICE,
}
OPERATIONS = tuple(each for operations in SECTIONS.values() for each in operations)
