extension BadFile {
  /// Files that are not YAML, or use YAML features that a pipeline does not need.
  static let syntax = table(
    #"""
    === nothing at all
    > 1:1: the file is empty; it needs 'version: 1' and 'stages:' at least

    === only a comment
    # to do
    > 1:1: the file is empty; it needs 'version: 1' and 'stages:' at least

    === a text instead of a map
    mime
    > 1:1: a pipeline file is a map of keys, not 'mime'; begin it with 'version: 1'

    === a list instead of a map
    - use: mime
    > 1:1: a pipeline file is a map of keys, not a list; begin it with 'version: 1'

    === a pattern that YAML takes for an alias
    version: 1
    stages:
    - use: mime
      when: */*
    > 4:10: not valid YAML: did not find expected alphabetic or numeric character while scanning an alias that begins at line 4, column 9; put a pattern that begins with '*' in quotes: "*/*"

    === a tab
    version: 1
    stages:
    \#t- use: mime
    > 3:1: not valid YAML: found character that cannot start any token while scanning for the next token; indent with spaces, not tabs

    === an open bracket
    version: 1
    stages:
    - use: mime
      options: { allow: [image/png }
    > 4:32: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence that begins at line 4, column 21; close each bracket, and put a value with '{', '[' or ',' in quotes

    === a template without quotes
    version: 1
    stages:
    - use: store
      options: { path: objects/{messageId}.pdf }
    > 4:28: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping that begins at line 4, column 12; close each bracket, and put a value with '{', '[' or ',' in quotes

    === a key that is not below the one before
    version: 1
    stages:
    - use: mime
     id: first
    > 4:2: not valid YAML: did not find expected key while parsing a block mapping that begins at line 1, column 1; check the indentation, and a ':' after each key

    === a second colon
    version: 1
    stages:
    - use: mime: size
    > 3:12: not valid YAML: mapping values are not allowed in this context; put a value with ': ' in quotes, or check the indentation and the line before

    === a key without a colon
    version: 1
    stages:
    - use mime
      id: first
    > 4:5: not valid YAML: mapping values are not allowed in this context; put a value with ': ' in quotes, or check the indentation and the line before

    === an open quote
    version: 1
    stages:
    - use: "mime
    > 4:1: not valid YAML: found unexpected end of stream while scanning a quoted scalar that begins at line 3, column 8; close the quotes, and write '\\' for a backslash in double ones

    === a value that begins with a reserved character
    version: 1
    stages:
    - use: @mime
    > 3:8: not valid YAML: found character that cannot start any token while scanning for the next token; put a value that begins with this character in quotes

    === a value that begins with an ampersand
    version: 1
    stages:
    - use: mime
      when: &*
    > 4:10: not valid YAML: did not find expected alphabetic or numeric character while scanning an anchor that begins at line 4, column 9; put a value that begins with '&' in quotes

    === a control character
    version: 1
    stages:
    - use: 'mi\#u{7}me'
    > 3:11: not valid YAML: the control character U+0007 stands here; remove it

    === a NUL written as an escape
    version: 1
    stages:
    - use: "mi\0me"
    > 3:8: a value holds a NUL character; remove it

    === an anchor and its alias
    version: 1
    stages:
    - use: &first mime
    - use: *first
    > 3:8: anchors and aliases are not read here; remove the '&' and write each value out
    > 4:8: '*first' is an alias, and aliases are not read here; write the value out, or put it in quotes

    === an anchor at a key
    version: 1
    stages:
    - &key use: mime
    > 3:3: anchors and aliases are not read here; remove the '&' and write each value out

    === a tag of another application
    version: 1
    stages:
    - use: !plugin mime
    > 3:8: the tag '!plugin' is not read here; remove it

    === a tag that does not fit
    version: 1
    stages:
    - !!str { use: mime }
    > 3:3: the tag '!!str' is not read here; remove it

    === a second document
    version: 1
    stages:
    - use: mime
    ---
    version: 1
    > 4:1: a second document begins here; keep one in a file

    === a key given twice
    version: 1
    stages:
    - use: mime
      use: size
    > 4:3: 'use' is given twice, first at line 3, column 3; remove one of the two

    === a map as a key
    version: 1
    stages:
    - { ? [a] : b, use: mime }
    > 3:7: a key must be a single word; put a key with brackets, or one that begins with '*', in quotes

    === a variable that is not set
    version: 1
    stages:
    - use: mime
      id: ${ABSENT}
    > 4:7: environment variable 'ABSENT' is not set; set it, or give a default: '${ABSENT:-default}'

    === a variable without its closing brace
    version: 1
    stages:
    - use: mime
      id: ${NAME
    > 4:7: '${NAME' has no closing brace; write '${NAME}', or '$$' for a dollar sign

    === a variable without braces
    version: 1
    stages:
    - use: mime
      id: $NAME
    > 4:7: a '$' stands alone; write '${NAME}' for a variable, or '$$' for a dollar sign

    === a variable whose name is none
    version: 1
    stages:
    - use: mime
      id: ${9}-${NAME:+x}
    > 4:7: '${9}' does not name a variable; write '${NAME}', '${NAME:-default}' or '${file:/path}'
    > 4:7: '${NAME:+x}' does not name a variable; write '${NAME}', '${NAME:-default}' or '${file:/path}'

    === several mistakes that need no end of the file, then one that does
    version: 1
    stages:
    - use: mime
      use: size
      id: ${ABSENT}
      when: */*
    > 4:3: 'use' is given twice, first at line 3, column 3; remove one of the two
    > 5:7: environment variable 'ABSENT' is not set; set it, or give a default: '${ABSENT:-default}'
    > 6:10: not valid YAML: did not find expected alphabetic or numeric character while scanning an alias that begins at line 6, column 9; put a pattern that begins with '*' in quotes: "*/*"
    """#)
}
