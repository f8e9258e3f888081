# What `make demo` runs: packs a sample of real GitHub events, describes the file, shows its first rows, queries them.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p demo

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

show sdb pack --force -o demo/github.zion testdata/gh2015_1k.json.gz
show sdb describe demo/github.zion
show sdb head -n 3 --fields id,type,created_at demo/github.zion
show sdb query 'SELECT type, COUNT(*) AS n FROM "demo/github.zion" GROUP BY type ORDER BY n DESC LIMIT 5'
printf '\nThe packed file is demo/github.zion; %s/sdb is ready for more.\n' "$(dirname "$(command -v sdb)")"
