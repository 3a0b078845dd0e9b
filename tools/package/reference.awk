# reference.awk: heddle.h as a reference in Markdown: what each comment that stands alone says, then what it is of; an index of
# all names before. SPDX-License-Identifier: MIT
function flush_entry(   names, k, title) {
    if (code ~ /[^ \n]/) {
        n = find_names(code, names)
        title = ""
        for (k = 1; k <= n; k++) {
            title = title (k > 1 ? ", " : "") names[k]
            places[++count] = names[k]
        }
        if (title != "") {
            anchor = tolower(title)
            gsub(/[^a-z0-9_ -]/, "", anchor)
            gsub(/ /, "-", anchor)
            for (k = 1; k <= n; k++) anchors[names[k]] = anchor
            body = body "\n### " title "\n"
        }
    }
    if (said != "") body = body "\n" said "\n"
    if (code ~ /[^ \n]/) body = body "\n```c\n" code "```\n"
    said = code = ""
}
# Names that a text declares: functions, and types behind a bracket or in one line.
function find_names(text, names,   n, lines, k, m, word) {
    n = 0
    m = split(text, lines, "\n")
    for (k = 1; k <= m; k++) {
        word = ""
        if (lines[k] ~ /^HD_API/ && match(lines[k], /hd_[a-z_]+\(/)) word = substr(lines[k], RSTART, RLENGTH - 1)
        else if (lines[k] ~ /^} Hd[A-Za-z]*;/) { word = lines[k]; gsub(/[};]| /, "", word) }
        else if (lines[k] ~ /^typedef .*Fn\(/ && match(lines[k], /Hd[A-Za-z]*Fn/)) word = substr(lines[k], RSTART, RLENGTH)
        else if (lines[k] ~ /^typedef .*} Hd[A-Za-z]*;/ || lines[k] ~ /^typedef struct Hd[A-Za-z]* Hd[A-Za-z]*;/) {
            word = lines[k]
            sub(/;.*/, "", word)
            sub(/.* /, "", word)
        }
        if (word != "") names[++n] = word
    }
    return n
}
/^#|^extern "C"|^SPDX/ { next }
!started && /^typedef/ { started = 1 }
!started { next }
/^}$/ { next } # of extern "C"
in_comment || (/^\/\*/ && depth == 0) {
    if (!in_comment) flush_entry()
    line = $0
    in_comment = line !~ /\*\//
    sub(/^\/\* ?/, "", line); sub(/^ \* ?/, "", line); sub(/ ?\*\/.*$/, "", line)
    said = said (said != "" ? "\n" : "") line
    next
}
/^$/ && depth == 0 { flush_entry(); next }
{
    code = code $0 "\n"
    line = $0
    gsub(/\/\*[^*]*\*\//, "", line)
    depth += gsub(/{/, "{", line) - gsub(/}/, "}", line)
}
END {
    flush_entry()
    print "# heddle.h\n\nEvery type and function of the library, as the header has them. [The library and its packages](docs/library.md) has examples.\n"
    for (k = 1; k <= count; k++) printf("%s[%s](#%s)", (k > 1 ? ", " : ""), places[k], anchors[places[k]])
    printf "\n%s", body
}
