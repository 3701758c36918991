extension BadFile {
  /// Files of cases.
  static let cases = table(
    #"""
    === no map
    - name: x
    > 1:1: a file of cases is a map, not a list; begin it with 'stage: NAME'

    === neither stage nor pipeline
    cases:
    - name: x
      expect: {}
    > 1:1: the file does not say what the cases are for; add 'stage: NAME' or 'pipeline: FILE'

    === both a stage and a pipeline
    stage: size
    pipeline: pipeline.yaml
    cases:
    - name: x
      expect: {}
    > 2:11: cases are for a stage or for a pipeline; remove one of the two

    === a stage misspelt
    stge: size
    cases:
    - name: x
      expect: {}
    > 1:1: unknown key 'stge'; did you mean 'stage'?

    === a stage that is a list
    stage: [size]
    cases:
    - name: x
      expect: {}
    > 1:8: 'stage' takes one value, not a list; write 'stage: size'

    === no cases
    stage: size
    > 1:1: there are no cases; list one at least: 'cases:', and below it '- name: …'

    === cases misspelt
    stage: size
    case: []
    > 2:1: unknown key 'case'; did you mean 'cases'?

    === an empty list of cases
    stage: size
    cases: []
    > 2:8: there are no cases; begin each case with '- name: …'

    === cases as a map
    stage: size
    cases: { name: x }
    > 2:8: 'cases' takes a list, not a map; begin each case with '- name: …'

    === cases that are none
    stage: size
    cases:
    - x
    - [x]
    -
    > 3:3: a case is a map, not 'x'; begin it with '- name: …'
    > 4:3: a case is a map, not a list; begin it with '- name: …'
    > 5:2: a case is a map, not nothing; begin it with '- name: …'

    === a case without a name
    stage: size
    cases:
    - expect: {}
    > 3:3: the case has no name; add 'name: …'

    === two cases of a name
    stage: size
    cases:
    - name: x
      expect: {}
    - expect: {}
      name: x
    > 6:9: 'x' is the name of the case at line 3 too; give each case a name of its own

    === a case that expects nothing
    stage: size
    cases:
    - name: x
    > 3:3: the case expects nothing; add 'expect: { verdict: pass }', or 'expect: {}' for --update to fill in

    === an expectation misspelt
    stage: size
    cases:
    - name: x
      expct: { verdict: pass }
    > 4:3: unknown key 'expct'; did you mean 'expect'?

    === an expectation that is no map
    stage: size
    cases:
    - name: x
      expect: pass
    - name: y
      expect:
    - name: z
      expect: [pass]
    > 4:11: 'expect' takes a map, not 'pass'; write '{ verdict: pass }'
    > 6:10: 'expect' takes a map, not nothing; write '{ verdict: pass }'
    > 8:11: 'expect' takes a map, not a list; write '{ verdict: pass }'

    === keys nobody knows
    stage: size
    cases:
    - name: x
      mediatype: a/b
      loud: true
      expect: { verdct: pass, loud: true }
    > 4:3: unknown key 'mediatype'; did you mean 'media-type'?
    > 5:3: unknown key 'loud'; the keys here are: name, input, file-name, declared-type, media-type, metadata, attempt, files, expect, options, timeout, memory, twin, outcome, reason, event
    > 6:13: unknown key 'verdct'; did you mean 'verdict'?
    > 6:27: unknown key 'loud'; the keys here are: refused, verdict, produced, code, message, media-type, metadata, metadata-includes, events, location, files, within

    === keys of a pipeline's case in a stage's
    stage: size
    cases:
    - name: x
      stages: {}
      expect: { outcome: completed, path: [mime] }
    > 4:3: unknown key 'stages'; it is for cases of a pipeline
    > 5:13: unknown key 'outcome'; it is expected of a pipeline
    > 5:33: unknown key 'path'; it is expected of a pipeline

    === keys of a stage's case in a pipeline's
    pipeline: p.yaml
    cases:
    - name: x
      options: {}
      expect: { verdict: pass }
    > 4:3: unknown key 'options'; it is for cases of a stage
    > 5:13: unknown key 'verdict'; it is expected of a stage

    === a verdict there is not
    stage: size
    cases:
    - name: x
      expect: { verdict: passed }
    - name: y
      expect: { verdict: [pass] }
    > 4:22: 'verdict' knows no 'passed'; did you mean 'pass'?
    > 6:22: 'verdict' takes one value, not a list; write 'verdict: pass'

    === an outcome there is not
    pipeline: p.yaml
    cases:
    - name: x
      expect: { outcome: complete, path: mime }
    > 4:22: 'outcome' knows no 'complete'; did you mean 'completed'?
    > 4:38: 'path' takes a list, not one value; write 'path: [mime]'

    === a refusal with something else
    stage: size
    cases:
    - name: x
      expect: { refused: no, verdict: pass }
    > 4:22: 'refused' stands alone: a stage that does not open says nothing else; remove the other keys

    === an input of nothing, of two things and of no thing
    stage: size
    cases:
    - name: a
      input: {}
      expect: {}
    - name: b
      input: { text: x, zeros: 1MB }
      expect: {}
    - name: c
      input:
      expect: {}
    - name: d
      input: { txt: x }
      expect: {}
    > 4:10: 'input' is one thing, not 0; write a file's path, or { text: … }, { base64: … } or { zeros: 11MB }
    > 7:10: 'input' is one thing, not 2; write a file's path, or { text: … }, { base64: … } or { zeros: 11MB }
    > 10:9: 'input' takes a map, not nothing; write a file's path, or { text: … }, { base64: … } or { zeros: 11MB }
    > 13:12: unknown key 'txt'; did you mean 'text'?

    === inputs of the wrong kind
    stage: size
    cases:
    - name: a
      input: { zeros: 10 }
      expect: {}
    - name: b
      input: { zeros: 1MB, times: 2 }
      expect: {}
    - name: c
      input: { text: x, times: 0 }
      expect: {}
    - name: d
      input: { text: [x] }
      expect: {}
    - name: e
      input: [x]
      expect: {}
    > 4:19: 'zeros' wants a size, and 10 is a bare number; write 10MB for megabytes or 10B for bytes
    > 7:31: 'times' repeats a text or base64; write all of it under 'zeros'
    > 10:28: 'times' is 0, which is too little; write a value from 1 to 10000000
    > 13:18: 'text' is a text, not a list; put it in quotes
    > 16:11: 'input' takes a map, not 'x'; write a file's path, or { text: … }, { base64: … } or { zeros: 11MB }

    === base64 that is none
    stage: size
    cases:
    - name: a
      input: { base64: aGVsbG8 }
      expect: {}
    - name: b
      input: { base64: "====" }
      expect: {}
    - name: c
      input: { base64: "aGVs-G8=" }
      expect: {}
    > 4:20: this is not base64 (RFC 4648, section 4); make it with 'base64 FILE'
    > 7:20: this is not base64 (RFC 4648, section 4); make it with 'base64 FILE'
    > 10:20: this is not base64 (RFC 4648, section 4); make it with 'base64 FILE'

    === more text than is kept
    stage: size
    cases:
    - name: a
      input: { text: 12345678, times: 8388609 }
      expect: {}
    - name: b
      input: [{ text: 12345678, times: 8388608 }, { zeros: 1B }]
      expect: {}
    > 4:35: that comes to more than 64MB; write fewer times
    > 7:47: the pieces come to more than 64MB; write fewer

    === metadata of the wrong kind
    stage: size
    cases:
    - name: a
      metadata: [x]
      expect: { metadata: x }
    - name: b
      metadata: { a: [1], b: }
      expect: { metadata: { a: [1] }, metadata-includes: [b] }
    > 4:13: 'metadata' takes a map, not a list; write { key: value }
    > 5:23: 'metadata' takes a map, not 'x'; write { pdf.pages: 3 }, or {} for none
    > 7:18: 'a' is one value, not a list; write a text, a number, true or false
    > 7:26: 'b' is one value, not nothing; write a text, a number, true or false
    > 8:28: 'a' is a value or a pattern, not a list; write a text, or { matches: REGEX }
    > 8:54: 'metadata-includes' takes a map, not a list; write { pdf.pages: 3 }, or {} for none

    === a media type that is none
    stage: size
    cases:
    - name: x
      media-type: image
      expect: {}
    > 4:15: 'image' is not a media type; write one such as image/png

    === budgets without a unit, and beyond their bounds
    stage: size
    cases:
    - name: x
      timeout: 5
      memory: 1MB
      attempt: 0
      expect: { within: 5 }
    > 4:12: 'timeout' wants a duration, and 5 is a bare number; write 5s for seconds or 5ms for milliseconds
    > 5:11: 'memory' is 1MB, which is too little; write a value from 16MB to 64GB
    > 6:12: 'attempt' is 0, which is too little; write a value from 1 to 1000
    > 7:21: 'within' wants a duration, and 5 is a bare number; write 5s for seconds or 5ms for milliseconds

    === patterns that are none
    stage: size
    cases:
    - name: x
      expect: { code: { matches: "a(" }, message: { matchs: a }, refused: { matches: "[" } }
    - name: y
      expect: { message: [a], metadata: { a: { matches: "*" } } }
    > 4:30: 'a(' is no regular expression: Unmatched ( or \(; write a POSIX extended one, as for 'grep -E'
    > 4:49: unknown key 'matchs'; did you mean 'matches'?
    > 4:71: 'refused' stands alone: a stage that does not open says nothing else; remove the other keys
    > 4:82: '[' is no regular expression: Invalid regular expression; write a POSIX extended one, as for 'grep -E'
    > 6:22: 'message' is a value or a pattern, not a list; write a text, or { matches: REGEX }
    > 6:53: '*' is no regular expression: Invalid preceding regular expression; write a POSIX extended one, as for 'grep -E'

    === effects of the wrong kind
    stage: store
    cases:
    - name: x
      expect: { events: attachment.completed, produced: x, files: [a] }
    - name: y
      expect: { events: [a, { typ: b, to: all }], produced: { sha: a, size: many }, files: { a: { txt: b } } }
    > 4:21: 'events' takes a list, not 'attachment.completed'; write [{ type: attachment.completed }], or [] for none
    > 4:53: 'produced' is a map or 'none', not 'x'; write { sha256: …, size: 120 }
    > 4:63: 'files' takes a map, not a list; write { path: text }, or {} for none
    > 6:22: an event is a map, not 'a'; write { type: attachment.completed }
    > 6:27: unknown key 'typ'; did you mean 'type'?
    > 6:39: 'to' knows no 'all'; the choices are: participants, sender, everyone
    > 6:59: unknown key 'sha'; the keys here are: sha256, size, text
    > 6:73: 'size' wants a whole number, not 'many'; write a value from 0 to 1099511627776
    > 6:95: unknown key 'txt'; did you mean 'text'?

    === files that leave their folder
    stage: store
    cases:
    - name: x
      twin: /etc/passwd
      files: { ../a: b, /a: b, a//b: c, a/./b: c, "": d, a: [b] }
      expect: {}
    - name: y
      files: a
      expect: {}
    > 4:9: '/etc/passwd' of 'twin' is no path below the folder; write one without a '/' in front, '.' and '..'
    > 5:12: '../a' of 'files' is no path below the folder; write one without a '/' in front, '.' and '..'
    > 5:21: '/a' of 'files' is no path below the folder; write one without a '/' in front, '.' and '..'
    > 5:28: 'a//b' of 'files' is no path below the folder; write one without a '/' in front, '.' and '..'
    > 5:37: 'a/./b' of 'files' is no path below the folder; write one without a '/' in front, '.' and '..'
    > 5:47: '' of 'files' is no path below the folder; write one without a '/' in front, '.' and '..'
    > 5:57: 'a' is a text, not a list; write what the file holds
    > 8:10: 'files' takes a map, not 'a'; write { path: text }

    === what stands at the end and in channels
    stage: notify
    cases:
    - name: x
      outcome: queued
      reason: too large
      event: [x]
      expect: {}
    - name: y
      reason: { cod: x }
      event: { body: { txt: x }, typ: x }
      expect: {}
    > 4:12: 'outcome' knows no 'queued'; the choices are: completed, rejected, failed, quarantined
    > 5:11: 'reason' takes a map, not 'too large'; write { stage: size, code: too-large }
    > 6:10: 'event' takes a map, not a list; write { type: attachment.completed }
    > 9:13: unknown key 'cod'; did you mean 'code'?
    > 10:20: unknown key 'txt'; did you mean 'text'?
    > 10:30: unknown key 'typ'; did you mean 'type'?

    === canned verdicts that are none
    pipeline: p.yaml
    cases:
    - name: x
      stages: [scan]
      expect: {}
    - name: y
      stages: { scan: reject, mime: { verdict: crashed, media-type: x } }
      expect: {}
    > 4:11: 'stages' takes a map, not a list; write { scan: { verdict: reject, code: virus-found } }
    > 7:19: 'scan' takes a map, not 'reject'; write { verdict: pass }
    > 7:44: 'verdict' knows no 'crashed'; the choices are: pass, reject, retry, fail
    > 7:65: 'x' is not a media type; write one such as image/png

    === options that are no map
    stage: size
    cases:
    - name: x
      options: max
      expect: {}
    > 4:12: 'options' takes a map; write 'options: { name: value }'

    === an alias
    stage: size
    cases:
    - name: x
      input: *x
      metadata: { a: *x }
      files: { a: *x }
      expect: { code: *x, produced: *x, events: [*x], files: { a: *x } }
    > 4:10: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 5:18: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 6:15: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 7:19: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 7:33: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 7:46: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 7:63: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes

    === a NUL
    stage: size
    cases:
    - name: "a\0"
      expect: {}
    > 3:9: a value holds a NUL character; remove it

    === brackets that stay open
    stage: size
    cases:
    - name: x
      expect: { verdict: pass
    > 5:1: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping that begins at line 4, column 11; close each bracket, and put a value with '{', '[' or ',' in quotes
    """#)
}
