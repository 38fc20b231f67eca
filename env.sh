# Source this in the repository's root, `. ./env.sh`: afterwards plain `reframe -c checks -r` and `acceptance` work.
# Everything that a run leaves behind goes to var/ (or to $ACCEPTANCE_VAR).

_root="$(cd "$(dirname "${BASH_SOURCE[0]:-./env.sh}")" && pwd)"
if [ ! -f "$_root/config/settings.py" ]; then
    echo "env.sh: source me in the root of the clone" >&2
elif [ ! -x "$_root/.venv/bin/reframe" ]; then
    echo "env.sh: $_root/.venv is missing; run 'make setup' once" >&2
else
    export RFM_CONFIG_FILES="$_root/config/settings.py"
    export ACCEPTANCE_VAR="${ACCEPTANCE_VAR:-$_root/var}"
    case ":$PATH:" in
        *":$_root/utils/bin:"*) ;;
        *) export PATH="$_root/utils/bin:$_root/.venv/bin:$PATH" ;;
    esac
fi
unset _root
