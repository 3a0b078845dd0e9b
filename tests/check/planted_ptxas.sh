#!/bin/bash
# Errors planted in ptxas's code: of those that change what it does, `heddle check` and the model checker find at least 95 of
# 100 on every native machine, and `heddle check` objects to none of the programs as ptxas wrote them.
#   planted_ptxas.sh HEDDLE KERNELS SCRATCH [PROGRAMS [MUTANTS [SEED [MACHINES]]]]
# The programs are random ones of `heddle fuzz` and the divergent kernels of KERNELS, one file each; the recipe of
# docs/mutation.md is this with 6 programs of each kind and 60 mutants of each class.
# SPDX-License-Identifier: MIT
set -u
heddle=$1 kernels=$2 scratch=$3 programs=${4:-1} mutants=${5:-5} seed=${6:-1} machines=${7:-75 80 86 89 90} least=95
here=$(cd "$(dirname "$0")" && pwd)
ptxas=$("$here/../find_nvidia.sh" ptxas) || exit $?
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0 all=0 found=0 hazards=0 objected=0

# Each kernel for itself, with a launch beside it.
awk '/^\.visible \.entry/ { name = $3; sub(/\(.*/, "", name); file = name ".ptx"; printf "%s", head > file }
     { if (file == "") head = head $0 "\n"; else print > file }' "$kernels"
for file in *.ptx; do
    printf '{"module": "%s", "buffers": {"in": {"type": "u32", "count": 256, "init": "random:1"},
 "out": {"type": "u32", "count": 256, "init": "zero"}},
 "launches": [{"kernel": "%s", "grid": [1, 1, 1], "block": [256, 1, 1], "args": ["in", "out"]}]}\n' \
        "$file" "${file%.ptx}" >"${file%.ptx}.json"
done
sed -i 's/^\.target .*/.target sm_75/' *.ptx
set -- *.ptx
[ $# -ge 30 ] || { echo "only $# kernels in $kernels"; exit 1; }
chosen=() # every eleventh: others take long and show the same
for ((k = seed % 11; k < $#; k += 11)); do chosen+=("${@:k+1:1}"); done

for sm in $machines; do
    "$heddle" mutate --campaign "${chosen[@]}" --kind=cfg,structured,calls,collectives,barriers --programs="$programs" \
        --with-ptxas=-O3 --ptxas="$ptxas" -t sm_$sm --class=reconvergence,control --count="$mutants" --prove-time=0 --states=3000 \
        --seed="$seed" >report.$sm 2>log.$sm || { echo "sm_$sm: no campaign"; tail -3 log.$sm; failed=1; continue; }
    # columns: class or group (one or two words), sites, mutants, changed, static N R %, model N R % or -, static+model N
    awk -v sm=$sm '$1 == "reconvergence" { print $4, ($8 == "-" ? $9 : $11) > "changed"; told = 1
                                            printf "sm_%s: reconvergence %d of %d", sm, ($8 == "-" ? $9 : $11), $4 }
                   $1 == "control" && $2 == "codes" { print $5, $10 > "hazards"; printf ", control codes %d of %d\n", $10, $5 }
                   /^survivor/ { print "  " $0 }
                   END { exit !told }' report.$sm || { echo "sm_$sm: no result"; failed=1; }
    read -r n k <changed && all=$((all + n)) found=$((found + k))
    read -r n k <hazards && hazards=$((hazards + n)) objected=$((objected + k))
    for file in "${chosen[@]}"; do
        "$ptxas" -arch=sm_$sm "$file" -o own.cubin && "$heddle" check own.cubin >out 2>&1 ||
            { echo "sm_$sm: an alarm about $file as it is"; grep error out | head -3; failed=1; }
    done
done
echo "reconvergence $found of $all, control codes $objected of $hazards"
few=$((10 * $(wc -w <<<"$machines")))
[ $all -ge $few ] && [ $hazards -ge $few ] || { echo "too few that change anything"; failed=1; }
[ $((100 * found)) -ge $((least * all)) ] || { echo "fewer than $least of 100 of reconvergence"; failed=1; }
[ $((100 * objected)) -ge $((least * hazards)) ] || { echo "fewer than $least of 100 of control codes"; failed=1; }
exit $failed
