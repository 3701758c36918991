#!/usr/bin/env bash
# Makes .build/sluice_VERSION_ARCH.deb of what is built. From the project root: make deb
#
# The same commit and the same programs give the same bytes, whenever it is made.
set -euo pipefail
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."

built=${1:-.build/release}
version=$(sed -n 's/^ *static let number = "\(.*\)"$/\1/p' Sources/Tools/sluice/CommandLine/Version.swift)
arch=$(dpkg --print-architecture)
[[ $version ]] || { echo "Version.swift has no number" >&2; exit 1; }
if [[ ! ${SOURCE_DATE_EPOCH-} ]]; then SOURCE_DATE_EPOCH=$(git log -1 --format=%ct); fi
export SOURCE_DATE_EPOCH

work=.build/deb
stage=$work/root
package=.build/sluice_${version}_$arch.deb
rm -rf "$work"
mkdir -p "$stage"

# 1. The files. The program's own symbols are for a debugger; those of workers and plugins name the function that has crashed.
# `place` strips the rest, and sets the run path last.
mkdir "$work/built"
cp "$built"/{sluice,sluice-worker,sluice-httpd} "$built"/libsluice-*.so "$work/built"
strip --strip-unneeded "$work/built/sluice"
make --no-print-directory place BUILT="$work/built" DESTDIR="$PWD/$stage" PREFIX=/usr >/dev/null
doc=$stage/usr/share/doc/sluice
install -D -m 644 -t "$stage/usr/lib/systemd/system" Packaging/sluice.service Packaging/sluice.socket
install -D -m 644 -t "$stage/etc/sluice" Packaging/pipeline.yaml
install -D -m 644 -t "$doc" README.md CONTRIBUTING.md Packaging/grafana.json
install -D -m 644 -t "$doc/docs" docs/*.md docs/*.json
# Swift's runtime comes along, and so does its licence.
runtime=$(ldd "$built/sluice" | awk '/libswiftCore/ { print $3 }')
licence=$(dirname "$runtime")/../../../share/swift/LICENSE.txt
[[ -e $licence ]] || { echo "Swift's licence is not at $licence; the package would lack it" >&2; exit 1; }
install -m 644 "$licence" "$doc/LICENSE.swift.txt"

# 2. What it needs. Only the stages `image` and `preview` need libvips, which needs a hundred packages.
mkdir -p "$work/debian"
printf 'Source: sluice\n\nPackage: sluice\nArchitecture: any\n' >"$work/debian/control"
libraries() { # -dFIELD and files, in turn
    (cd "$work" && dpkg-shlibdeps -O --ignore-missing-info -lroot/usr/lib/sluice "$@" 2>>shlibdeps.log)
}
mapfile -t files < <(cd "$work" && find root/usr/lib/sluice -type f ! -name libsluice-image.so ! -name libsluice-preview.so | sort)
needed=$(libraries -dDepends "${files[@]}" -dRecommends root/usr/lib/sluice/libsluice-{image,preview}.so)
depends=$(sed -n 's/^shlibs:Depends=//p' <<<"$needed")
recommends=$(sed -n 's/^shlibs:Recommends=//p' <<<"$needed")
[[ $depends == *libc6* ]] || { cat "$work/shlibdeps.log" >&2; exit 1; }

# 3. What dpkg is told.
find "$stage" -type d -exec chmod 755 {} +
find "$stage" -type f -exec chmod u=rwX,go=rX {} +
size=$(find "$stage" -type f -printf '%s\n' | awk '{ kb += int(($1 + 1023) / 1024) } END { print kb + 0 }')
mkdir "$stage/DEBIAN"
sed -e "s|@VERSION@|$version|; s|@ARCH@|$arch|; s|@SIZE@|$size|; s|@DEPENDS@|$depends|; s|@RECOMMENDS@|$recommends|" \
    -e "s|@MAINTAINER@|${MAINTAINER:-Sluice <root@localhost>}|" \
    Packaging/debian/control >"$stage/DEBIAN/control"
install -m 644 Packaging/debian/conffiles "$stage/DEBIAN"
install -m 755 Packaging/debian/{postinst,prerm,postrm} "$stage/DEBIAN"
(cd "$stage" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
chmod 644 "$stage/DEBIAN/md5sums"

# 4. The package. dpkg sets later times back to SOURCE_DATE_EPOCH; the number of threads would change the bytes.
dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$stage" "$package" >/dev/null
echo "$package: $(stat -c %s "$package") bytes, $size KB installed"
