# Joins ES modules into one script: an inline module can import nothing, so each becomes a function that returns
# what it exports, called in the order of the arguments. Understands `import { a, b } from './x.js';` on one line and
# `export` before function, class or const.
function close_module() { if (name != "") printf "return {%s };\n})();\n", exports }
function fail(what) { print FILENAME ":" FNR ": " what > "/dev/stderr"; failed = 1; exit 1 }
FNR == 1 {
    close_module()
    name = FILENAME; sub(/.*\//, "", name); sub(/\.js$/, "", name)
    exports = ""; known[name] = 1
    printf "const module_%s = (() => {\n'use strict';\n", name
}
/^import / {
    if (!match($0, /from '\.\/[a-z]+\.js';$/)) fail("an import that join.awk does not understand")
    from = substr($0, RSTART + 8, RLENGTH - 13)
    if (!(from in known) || from == name) fail("imports " from ", which comes later")
    sub(/^import /, "const "); sub(/ from .*/, " = module_" from ";"); gsub(/ as /, ": ")
    print; next
}
/^export / {
    sub(/^export /, "")
    line = $0; sub(/^async /, "", line)
    if (line !~ /^(function|class|const) [A-Za-z_]/) fail("an export that join.awk does not understand")
    sub(/^(function|class|const) /, "", line); sub(/[^A-Za-z0-9_].*/, "", line)
    exports = exports (exports == "" ? " " : ", ") line
}
/<\/script/ { fail("holds the end of a script element") }
/^ *\/\// { next }
{ print }
END { if (!failed) close_module() }
