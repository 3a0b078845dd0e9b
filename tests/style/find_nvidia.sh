#!/bin/sh
# find_nvidia.sh TOP: tests/find_nvidia.sh finds no tool that cannot run, is for another machine, knows too little, or is not
# there, and says which; one that does what it is asked it finds; and nobody looks for one elsewhere.
# SPDX-License-Identifier: MIT
set -u
find=$1/tests/find_nvidia.sh failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fake() { # NAME BODY
    printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
    chmod +x "$work/$1"
}
fake good 'case $* in *-b*) echo NOP ;; esac; exit 0'
fake old 'echo "ptxas fatal : Unsupported .version 9.0; current version is 8.8"; exit 255'
fake missing 'exec /nowhere/ptxas.real "$@"'
fake no_sm_90 'case $* in *90*) echo "no sm_90"; exit 1 ;; esac; echo NOP'
printf 'no program' >"$work/text"
printf '\177ELF' >"$work/other_machine"
chmod +x "$work/other_machine"
for tool in ptxas nvdisasm; do
    for name in old missing no_sm_90 text other_machine absent; do
        out=$(PTXAS=$work/$name NVDISASM=$work/$name "$find" $tool true 2>"$work/err")
        [ $? = 77 ] && [ -z "$out" ] && grep -q "$name is not used: .*[^ ]$" "$work/err" && continue
        echo "$tool, $name: $out"
        cat "$work/err"
        failed=1
    done
    [ "$(PTXAS=$work/good NVDISASM=$work/good "$find" $tool)" = "$work/good" ] || { echo "$tool: good is not found"; failed=1; }
done
[ "$(PTXAS=$work/good "$find" ptxas sh -c 'echo $PTXAS; exit 3')" = "$work/good" ] || { echo "no PTXAS"; failed=1; }
PTXAS=$work/good "$find" ptxas sh -c 'exit 3'
[ $? = 3 ] || { echo "not the status of the command"; failed=1; }
others=$(cd "$1" && grep -rlE 'command -v "?(ptxas|nvdisasm)|which\("(ptxas|nvdisasm)|find_program\((PTXAS|NVDISASM)|cuda/bin' \
    tests bench cmake CMakeLists.txt | grep -v find_nvidia.sh)
[ -z "$others" ] || { echo "these look for NVIDIA's tools themselves, not with tests/find_nvidia.sh: $others"; failed=1; }
exit $failed
