extension BadFile {
  /// The options of stages.
  static let options = table(
    startingWith: "version: 1\nstages:\n",
    #"""
    === an option misspelt
    - use: pdf
      options: { max-page: 3 }
    > 4:14: unknown option 'max-page' for stage 'pdf'; did you mean 'max-pages'?

    === an option nobody knows
    - use: pdf
      options: { colour: red }
    > 4:14: unknown option 'colour' for stage 'pdf'; the options are: max-pages, encrypted, strict

    === a stage's key among the options
    - use: pdf
      options: { timeout: 3s }
    > 4:14: unknown option 'timeout' for stage 'pdf'; 'timeout' stands beside 'use', not under 'options'

    === options as a list
    - use: pdf
      options: [max-pages]
    > 4:12: 'options' takes a map, not a list; write 'options: { name: value }'

    === options as a text
    - use: pdf
      options: max-pages
    > 4:12: 'options' takes a map, not 'max-pages'; write 'options: { name: value }'

    === an option without a value
    - use: pdf
      options:
        max-pages:
    > 5:15: option 'max-pages' of stage 'pdf' has no value; write a value such as 5000, or leave it out

    === a number in quotes
    - use: pdf
      options: { max-pages: "12" }
    > 4:25: option 'max-pages' of stage 'pdf' wants a whole number, and "12" in quotes is text; write 12 without quotes

    === a number in words
    - use: pdf
      options: { max-pages: many }
    > 4:25: option 'max-pages' of stage 'pdf' wants a whole number, not 'many'; write a value from 1 to 1000000

    === a number with a fraction
    - use: pdf
      options: { max-pages: 1.5 }
    > 4:25: option 'max-pages' of stage 'pdf' wants a whole number, not '1.5'; write a value from 1 to 1000000

    === a number below the range
    - use: pdf
      options: { max-pages: 0 }
    > 4:25: option 'max-pages' of stage 'pdf' is 0, which is too little; write a value from 1 to 1000000

    === a number above the range
    - use: pdf
      options: { max-pages: 1000001 }
    > 4:25: option 'max-pages' of stage 'pdf' is 1000001, which is too much; write a value from 1 to 1000000

    === a number beyond 64 bits
    - use: pdf
      options: { max-pages: 99999999999999999999 }
    > 4:25: option 'max-pages' of stage 'pdf' is 99999999999999999999, which is more than can be counted; write a value from 1 to 1000000

    === a number below a range without end
    - use: knobs
      options: { deep: -1 }
    > 4:20: option 'deep' of stage 'knobs' is -1, which is too little; write a value of 0 or more

    === a fraction in words
    - use: knobs
      options: { ratio: half }
    > 4:21: option 'ratio' of stage 'knobs' wants a number, not 'half'; write a value such as 0.5

    === a fraction that is no number
    - use: knobs
      options: { ratio: .nan }
    > 4:21: option 'ratio' of stage 'knobs' wants a number, not '.nan'; write a value such as 0.5

    === a boolean of another language
    - use: pdf
      options: { strict: yes }
    > 4:22: option 'strict' of stage 'pdf' wants true or false, not 'yes'; write true

    === a boolean in capitals
    - use: pdf
      options: { strict: False }
    > 4:22: option 'strict' of stage 'pdf' wants true or false, not 'False'; write false

    === a boolean in quotes
    - use: pdf
      options: { strict: 'true' }
    > 4:22: option 'strict' of stage 'pdf' wants true or false, and "true" in quotes is text; write true without quotes

    === a boolean as a number
    - use: pdf
      options: { strict: 1 }
    > 4:22: option 'strict' of stage 'pdf' wants true or false, not '1'; write true or false

    === a choice misspelt
    - use: pdf
      options: { encrypted: rejct }
    > 4:25: option 'encrypted' of stage 'pdf' knows no 'rejct'; did you mean 'reject'?

    === a choice that there is not
    - use: pdf
      options: { encrypted: hold }
    > 4:25: option 'encrypted' of stage 'pdf' knows no 'hold'; the choices are: reject, pass

    === a size that is a bare number
    - use: size
      options: { max: 10485760 }
    > 4:19: option 'max' of stage 'size' wants a size, and 10485760 is a bare number; write 10MB or 10485760B

    === a small size that is a bare number
    - use: size
      options: { max: 10 }
    > 4:19: option 'max' of stage 'size' wants a size, and 10 is a bare number; write 10MB for megabytes or 10B for bytes

    === a size with a fraction
    - use: size
      options: { max: 1.5MB }
    > 4:19: option 'max' of stage 'size' wants a size, not '1.5MB'; write a whole number and a unit (B, KB, MB, GB, TB), such as 10MB

    === a size below nothing
    - use: size
      options: { max: -1 }
    > 4:19: option 'max' of stage 'size' wants a size, not '-1'; write a whole number and a unit (B, KB, MB, GB, TB), such as 10MB

    === a size beyond 64 bits
    - use: size
      options: { max: 99999999999TB }
    > 4:19: option 'max' of stage 'size' is 99999999999TB, which is more than can be counted; write a value such as 10MB

    === a duration that is a bare number
    - use: knobs
      options: { wait: 30 }
    > 4:20: option 'wait' of stage 'knobs' wants a duration, and 30 is a bare number; write 30s for seconds or 30ms for milliseconds

    === a duration in words
    - use: knobs
      options: { wait: 30 minutes }
    > 4:20: option 'wait' of stage 'knobs' wants a duration, not '30 minutes'; write a whole number and a unit (ms, s, m, h, d), such as 2s

    === a duration below the range
    - use: knobs
      options: { wait: 1ms }
    > 4:20: option 'wait' of stage 'knobs' is 1ms, which is too little; write a value from 1s to 1m

    === a list where one value is wanted
    - use: size
      options: { max: [10MB, 20MB] }
    > 4:19: option 'max' of stage 'size' takes one value, not a list; write 'max: 10MB'

    === a map where one value is wanted
    - use: size
      options: { max: { image/png: 1MB } }
    > 4:19: option 'max' of stage 'size' takes one value, not a map; write 'max: 10MB'

    === one value where a list is wanted
    - use: knobs
      options: { words: one }
    > 4:21: option 'words' of stage 'knobs' takes a list, not one value; write 'words: [one]'

    === a map where a list is wanted
    - use: knobs
      options: { types: { image/png: image/gif } }
    > 4:21: option 'types' of stage 'knobs' takes a list, not a map; write 'types: [application/pdf]'

    === one value where a map is wanted
    - use: size
      options: { rules: 2MB }
    > 4:21: option 'rules' of stage 'size' takes a map, not one value; write a map from media types, such as { "image/*": 10MB }

    === a list where a map is wanted
    - use: size
      options: { rules: [2MB] }
    > 4:21: option 'rules' of stage 'size' takes a map, not a list; write a map from media types, such as { "image/*": 10MB }

    === a map where one value or a list is wanted
    - use: mime
      options: { allow: { image/png: true } }
    > 4:21: option 'allow' of stage 'mime' takes one value or a list, not a map; write 'allow: application/pdf'

    === one value where a map of templates is wanted
    - use: knobs
      options: { both: [] }
    > 4:20: option 'both' of stage 'knobs' takes one value, not a list; write 'both: documents/{attachmentId}.{extension}'

    === an empty list
    - use: mime
      options: { allow: [] }
    > 4:21: option 'allow' of stage 'mime' is an empty list; list one value at least, or leave 'allow' out

    === an empty map
    - use: size
      options: { rules: {} }
    > 4:21: option 'rules' of stage 'size' is an empty map; write one entry at least, or leave 'rules' out

    === lists within lists
    - use: knobs
      options: { words: [one, [two], null] }
    > 4:27: each item of option 'words' of stage 'knobs' is one value, not a list; write a value such as text
    > 4:34: each item of option 'words' of stage 'knobs' needs a value; write one, or remove it

    === a media type that is none
    - use: mime
      options: { allow: [image/png, pdf, image] }
    > 4:33: option 'allow' of stage 'mime' wants a media type pattern, not 'pdf'; write one such as application/pdf, "image/*" or "*/*"
    > 4:38: option 'allow' of stage 'mime' wants a media type pattern, not 'image'; did you mean 'image/*'?

    === media types in one text
    - use: mime
      options: { allow: "image/png, image/gif" }
    > 4:21: option 'allow' of stage 'mime' wants a media type pattern, not 'image/png, image/gif'; write a list: [image/png, image/gif]

    === a map whose keys are no media types
    - use: size
      options: { rules: { image: 2MB, pdf: 2MB } }
    > 4:23: 'image' is not a media type pattern, and option 'rules' of stage 'size' has one as each key; did you mean 'image/*'?
    > 4:35: 'pdf' is not a media type pattern, and option 'rules' of stage 'size' has one as each key; write one such as application/pdf, "image/*" or "*/*"

    === a map with wrong values
    - use: size
      options: { rules: { image/png: 7, image/gif: [1B], image/webp: } }
    > 4:34: option 'rules' of stage 'size' wants a size, and 7 is a bare number; write 7MB for megabytes or 7B for bytes
    > 4:48: each entry of option 'rules' of stage 'size' is one value, not a list; write a value such as 10MB
    > 4:66: each entry of option 'rules' of stage 'size' needs a value; write one, or remove it

    === a map that says the same type twice
    - use: size
      options: { rules: { image/png: 7B, IMAGE/PNG: 8B } }
    > 4:38: 'IMAGE/PNG' is given twice, first at line 4, column 23; remove one of the two

    === an option that must be there
    - use: store
    > 3:8: stage 'store' needs its option 'path'; add 'path: …' under 'options'

    === an option that must be there, misspelt
    - use: store
      options: { paht: objects }
    > 4:14: unknown option 'paht' for stage 'store'; did you mean 'path'?

    === a template with a placeholder misspelt
    - use: store
      options: { path: "objects/{messageID}" }
    > 4:20: the path 'objects/{messageID}' of option 'path' of stage 'store' knows no {messageID}; there are {conversationId} {messageId} {attachmentId} {senderId} {fileName} {extension} {sha256} {type} {subtype}; did you mean {messageId}?

    === a template with a placeholder nobody knows
    - use: store
      options: { path: "objects/{name}" }
    > 4:20: the path 'objects/{name}' of option 'path' of stage 'store' knows no {name}; there are {conversationId} {messageId} {attachmentId} {senderId} {fileName} {extension} {sha256} {type} {subtype}

    === a template that leaves the store
    - use: store
      options: { path: ../objects }
    > 4:20: the path '../objects' of option 'path' of stage 'store' has an empty, `.` or `..` part, or begins or ends with `/`; write a value such as documents/{attachmentId}.{extension}

    === a template among several
    - use: store
      options: { path: { application/pdf: docs/x.pdf, "*/*": "a/{" } }
    > 4:58: the path 'a/{' of option 'path' of stage 'store' has a brace without its partner; write a value such as documents/{attachmentId}.{extension}

    === a text with a line break in a message
    - use: pdf
      options: { encrypted: "re\nject\e[31m" }
    > 4:25: option 'encrypted' of stage 'pdf' knows no 're\nject\u{1b}[31m'; the choices are: reject, pass

    === a default that does not fit
    - use: faulty
    > 3:8: the default of option 'limit' of stage 'faulty' wants a size, not 'much'; give 'limit' a value of its own, and tell the stage's author

    === every mistake at once, in the order of the file
    - use: size
      options: { rules: 2MB, max: 10, mni: 1B }
    - use: pdf
      options: { max-pages: x }
      timeout: soon
    workers: 0
    > 4:21: option 'rules' of stage 'size' takes a map, not one value; write a map from media types, such as { "image/*": 10MB }
    > 4:31: option 'max' of stage 'size' wants a size, and 10 is a bare number; write 10MB for megabytes or 10B for bytes
    > 4:35: unknown option 'mni' for stage 'size'; did you mean 'min'?
    > 6:25: option 'max-pages' of stage 'pdf' wants a whole number, not 'x'; write a value from 1 to 1000000
    > 7:12: 'timeout' wants a duration, not 'soon'; write a whole number and a unit (ms, s, m, h, d), such as 30s
    > 8:10: 'workers' is 0, which is too little; write a value from 1 to 256
    """#)
}
