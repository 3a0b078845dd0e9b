# mend.awk: what heddle check told with R-24 (the first file), put into the disassembly of the same binary (the second), of
# function FUNC, whose section is NAME. As many of the NOPs that fill the function up go; status 3 if there are too few, or
# calls, whose relocations would not move along.
# Only the first finding's instructions: those of the others are for code that is as it was.
# SPDX-License-Identifier: MIT
function address(text) { return substr("0000" substr(text, 3), length(text) - 1) }
function plain(text) { return "    [B------:R-:W-:-:S05]\t" text " ;" }
FNR == NR {
    if (index($0, ": note R-24: "))
        taken = !found && index($0, ": " FUNC "+0x") && (found = 1)
    if (!taken || $2 !~ /^B[0-9]+$/)
        next
    what = $1 " " $2 ($1 == "BSSY" ? ", `(mended)" : "")
    n++
    if ($3 == "in") # front of
        front[address($6)] = front[address($6)] plain(what) "\n" ($1 == "BSYNC" ? "mended:\n" : "")
    else { # on the edge
        from = address($6)
        edge[from] = address($8)
        there[from] = what
    }
    next
}
{ line[++lines] = $0 }
/^\t\.section\t/ { inside = index($0, "\"" NAME "\"") }
inside && match($0, /\/\*[0-9a-f]+\*\//) {
    at[lines] = substr($0, RSTART + 2, RLENGTH - 4)
    last = lines
    nops += /NOP ;/
    calls += / CALL\./
}
END {
    if (!n)
        exit 2
    for (k = 1; k <= lines; k++) {
        here = at[k]
        if (here in front)
            text[k] = front[here]
        if (!(here in edge))
            continue
        # a branch there goes around, what follows goes by
        if (line[k] ~ "`\\([.A-Za-z0-9_]*_" edge[here] "\\)") {
            match(line[k], /`\([.A-Za-z0-9_]+\)/)
            to = substr(line[k], RSTART, RLENGTH)
            line[k] = substr(line[k], 1, RSTART - 1) "`(around" here ")" substr(line[k], RSTART + RLENGTH)
            tail = tail "around" here ":\n" plain(there[here]) "\n" plain("BRA " to) "\n"
            n++
        } else
            line[k] = line[k] "\n" plain(there[here])
    }
    if (n > nops || calls)
        exit 3
    for (k = 1; k <= lines; k++) {
        if (at[k] != "" && line[k] ~ /NOP ;/ && n-- > 0)
            line[k] = ""
        gsub(/\/\*[0-9a-f]+\*\//, "", line[k])
        line[k] = text[k] line[k] (k == last ? "\n" tail : "")
        if (line[k] ~ /^\t\.section\t/)
            inside = index(line[k], "\"" NAME "\"")
        pieces = inside ? split(line[k], piece, "\n") : 0
        for (p = 1; p <= pieces; p++)
            if (piece[p] ~ /^ *\[B/) { # where the EXITs are now is on record
                if (piece[p] ~ / EXIT ;/)
                    exits = exits sprintf(", 0x%x", pc)
                pc += 16
            }
    }
    for (k = 1; k <= lines; k++) {
        if (line[k] ~ /^\t\.section\t/)
            inside = index(line[k], "\".nv.info." FUNC "\"")
        if (inside)
            sub(/EIATTR_EXIT_INSTR_OFFSETS.*/, "EIATTR_EXIT_INSTR_OFFSETS" exits, line[k])
        print line[k]
    }
}
