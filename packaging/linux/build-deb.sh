#!/bin/sh
# Makes etwship_VERSION_ARCHITECTURE.deb out of a program that is built already.
#
#   packaging/linux/build-deb.sh [-o FOLDER] [PROGRAM]
#
# PROGRAM is build/release/agent/etwship, which the preset release makes, and FOLDER is build. The
# last line that is printed names the package. DEBFULLNAME and DEBEMAIL say who makes it. One program
# and one SOURCE_DATE_EPOCH, by default the time of the last commit, give the same bytes every time.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)

out=$top/build
program=$top/build/release/agent/etwship
while getopts o: option; do
    case $option in
    o) out=$OPTARG ;;
    *)
        echo "usage: $0 [-o FOLDER] [PROGRAM]" >&2
        exit 2
        ;;
    esac
done
shift $((OPTIND - 1))
program=${1-$program}
case $program in */*) ;; *) program=./$program ;; esac
if [ ! -f "$program" ]; then
    echo "$0: no $program: cmake --preset release && cmake --build --preset release makes it" >&2
    exit 1
fi
for tool in dpkg-deb dpkg-gencontrol dpkg-shlibdeps strip; do
    if ! command -v "$tool" >/dev/null; then
        echo "$0: no $tool: apt-get install dpkg-dev binutils" >&2
        exit 1
    fi
done

umask 022
export LC_ALL=C TZ=UTC
version=$(sed -n 's/^project(etwship VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    # Without a repository: when the version was last given.
    SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct 2>/dev/null || stat -c %Y "$top/CMakeLists.txt")
fi
# How the archive is compressed depends on how many threads do it.
export SOURCE_DATE_EPOCH DPKG_DEB_THREADS_MAX=1
maintainer="${DEBFULLNAME:-etwship maintainers} <${DEBEMAIL:-maintainers@etwship.invalid}>"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
doc=$root/usr/share/doc/etwship
mkdir -p "$root/DEBIAN" "$work/debian" "$doc/examples" "$root/etc/etwship"
# mktemp lets nobody else in.
chmod 755 "$root"

install -D -m 755 "$program" "$root/usr/bin/etwship"
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/etwship"
install -m 644 "$here/etwship.yaml" "$root/etc/etwship/etwship.yaml"
install -D -m 644 "$here/etwship.service" "$root/usr/lib/systemd/system/etwship.service"
install -D -m 644 "$here/etwship.sysusers" "$root/usr/lib/sysusers.d/etwship.conf"
install -m 644 "$here/deb/copyright" "$doc/copyright"
# What the program may be linked with statically must be said with it.
if rdkafka=$("$here/librdkafka.sh" --kept 2>/dev/null); then
    install -m 644 "$rdkafka/share/licenses/librdkafka.txt" "$doc/librdkafka-licenses.txt"
fi
install -m 644 "$here/README.md" "$doc/README.md"
install -m 644 "$top/docs/reference/configuration.md" "$doc/REFERENCE.md"
cp -R "$top/config/examples/." "$doc/examples"
find "$doc" -type f -exec chmod 644 {} +
bash=$root/usr/share/bash-completion/completions
zsh=$root/usr/share/zsh/vendor-completions
mkdir -p "$bash" "$zsh"
"$program" completion bash >"$bash/etwship"
"$program" completion zsh >"$zsh/_etwship"
chmod 644 "$bash/etwship" "$zsh/_etwship"
mkdir -p "$root/usr/share/man/man1"
sed -e "s/@VERSION@/$version/" -e "s/@DATE@/$(date -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)/" \
    "$here/etwship.1" | gzip -9n >"$root/usr/share/man/man1/etwship.1.gz"

cat >"$work/debian/changelog" <<EOF
etwship ($version) unstable; urgency=medium

  * Version $version. What changed stands in the history of the project.

 -- $maintainer  $(date -R -d "@$SOURCE_DATE_EPOCH")
EOF
gzip -9nc "$work/debian/changelog" >"$doc/changelog.gz"
sed "s/@MAINTAINER@/$maintainer/" "$here/deb/control" >"$work/debian/control"

# What dpkg must know.
echo /etc/etwship/etwship.yaml >"$root/DEBIAN/conffiles"
install -m 755 "$here/deb/postinst" "$here/deb/prerm" "$here/deb/postrm" "$root/DEBIAN"
(cd "$root" && find usr -type f | sort | xargs md5sum) >"$root/DEBIAN/md5sums"
(
    cd "$work"
    dpkg-shlibdeps -Tdebian/substvars -e"$root/usr/bin/etwship"
    dpkg-gencontrol -petwship -P"$root" -Tdebian/substvars -fdebian/files
) >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}

find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$out"
package=$out/etwship_${version}_$(sed -n 's/^Architecture: //p' "$root/DEBIAN/control").deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
echo "$package"
