# What `make demo` runs: packs a sample of real GitHub events, describes the file, shows its first rows.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p demo

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

show sdb pack --force -o demo/github.zion testdata/gh2015_1k.json.gz
show sdb describe-file demo/github.zion
show sdb head -n 3 --fields id,type,created_at demo/github.zion
printf '\nThe packed file is demo/github.zion; %s/sdb is ready for more.\n' "$(dirname "$(command -v sdb)")"
