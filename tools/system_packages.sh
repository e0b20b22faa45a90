#!/bin/sh
# Install from the system's packages what the tests need and pip cannot bring; do nothing where it is there already.
#   system_packages.sh tests          mosquitto, node, npm, PostgreSQL's programs, and Chromium (of Debian; on macOS a
#                                     Chrome that is there)
#   system_packages.sh venv PYTHON    what `PYTHON -m venv` needs (Debian keeps it apart)
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/opt/homebrew/bin:/opt/homebrew/sbin
policy=/usr/sbin/policy-rc.d
cluster_conf=/etc/postgresql-common/createcluster.d/dcka.conf

say() { printf '%s\n' "$*"; }
fail() { printf 'system packages: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# sudo may ask for a password only where somebody can answer.
may_be_root() {
    [ "$(id -u)" = 0 ] && return 0
    has sudo || return 1
    sudo -n true 2>/dev/null && return 0
    [ -t 0 ] && [ -t 1 ]
}

apt_install() {
    may_be_root || fail "$* missing, and no way to become root here. Have somebody run: apt-get install $*"
    say "system packages: apt-get install $*"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Debian's mosquitto starts a broker on port 1883 as it is installed, and its PostgreSQL a cluster on 5432. The tests
# start their own, so for the time of the installation Debian's policy hook forbids services to start, and afterwards
# the boot has none either. PostgreSQL's package would make a cluster as well: its configuration says not to.
apt_install_quietly() {
    may_be_root || apt_install "$@"
    ours=
    if [ ! -e "$policy" ]; then
        ours=yes
        trap 'as_root rm -f "$policy"' EXIT
        trap 'exit 130' INT TERM HUP
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod 755 "$policy"
    fi
    case " $* " in *" postgresql "*)
        if [ ! -e "$cluster_conf" ]; then
            as_root mkdir -p "${cluster_conf%/*}"
            printf 'create_main_cluster = false\n' | as_root tee "$cluster_conf" >/dev/null
        fi ;;
    esac
    apt_install "$@"
    if [ -n "$ours" ]; then as_root rm -f "$policy"; trap - EXIT INT TERM HUP; fi
    case " $* " in *" mosquitto "*)
        if has systemctl && [ -d /run/systemd/system ]; then
            as_root systemctl disable --quiet --now mosquitto
            say "system packages: mosquitto is installed, its service is off (systemctl enable --now mosquitto starts it)"
        fi ;;
    esac
    case " $* " in *" postgresql "*)
        if has systemctl && [ -d /run/systemd/system ]; then
            as_root systemctl disable --quiet --now postgresql
            say "system packages: postgresql is installed without a cluster, its service is off"
        fi ;;
    esac
}

install() {
    if has apt-get; then apt_install_quietly "$@"
    elif has brew; then
        brew_names=$(printf '%s\n' "$@" | sed -e s/nodejs/node/ -e /^npm$/d | sort -u)
        # shellcheck disable=SC2086  # a list of names
        brew install --quiet $brew_names
    else
        fail "$* missing, and neither apt-get nor brew is here: install them with your system's packages, then run this again"
    fi
}

is_debian() { [ -r /etc/os-release ] && [ "$(. /etc/os-release && printf %s "${ID:-}")" = debian ]; }
# Debian keeps its programs off the PATH.
has_postgresql() {
    has initdb && return 0
    for program in /usr/lib/postgresql/*/bin/initdb /opt/homebrew/opt/postgresql*/bin/initdb; do
        [ -x "$program" ] && return 0
    done
    return 1
}

for_tests() {
    set --
    has mosquitto || set -- "$@" mosquitto
    has node || set -- "$@" nodejs
    has npm || set -- "$@" npm
    # Ubuntu's package of that name is a snap, and brew's a cask: there the tests of the page are skipped, and say so.
    if is_debian && ! has chromium; then set -- chromium "$@"; fi
    has_postgresql || set -- "$@" postgresql
    [ $# = 0 ] && return
    install "$@"
    for name in mosquitto node npm; do
        has $name || fail "$name is still not on the PATH after the installation"
    done
    has_postgresql || fail "PostgreSQL's initdb is still not there after the installation"
}

for_venv() {
    package=$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    has apt-get || fail "$1 has no ensurepip, so it cannot make a virtual environment: reinstall it with pip"
    apt_install "$package"
    "$1" -c 'import venv, ensurepip' || fail "$1 still has no ensurepip: say PYTHON=/path/to/another/python3 make setup"
}

case "${1:-}" in
    tests) for_tests ;;
    venv) for_venv "${2:?which Python}" ;;
    *) fail "usage: system_packages.sh tests | venv PYTHON" ;;
esac
