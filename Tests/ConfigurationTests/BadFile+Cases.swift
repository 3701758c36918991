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
    > 4:12: 'outcome' knows no 'queued'; the choices are: completed, rejected, failed, quarantined, cancelled
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
