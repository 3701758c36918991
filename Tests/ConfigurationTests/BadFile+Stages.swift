extension BadFile {
  /// The keys of stages and channels.
  static let stages = table(
    startingWith: "version: 1\nstages:\n",
    #"""
    === a stage without a plugin
    - id: first
    > 3:3: the stage does not say which plugin it uses; add 'use: NAME'

    === a plugin misspelt as a key
    - ues: mime
    > 3:3: unknown key 'ues'; did you mean 'use'?

    === a plugin left empty
    - use:
    > 3:7: 'use' has no value; write a value such as mime

    === names with capitals and underscores
    - use: Mime
      id: my_mime
    > 3:8: 'Mime' is not a name, which has lower case letters, digits and '-' only; write 'mime'
    > 4:7: 'my_mime' is not a name, which has lower case letters, digits and '-' only; write 'my-mime'

    === a path where a name should be
    - use: ../mime
    > 3:8: '../mime' is not a name, which has lower case letters, digits and '-' only; write one such as 'first-pdf'

    === stage keys nobody knows
    - use: mime
      whn: image/*
      colour: red
    > 4:3: unknown key 'whn'; did you mean 'when'?
    > 5:3: unknown key 'colour'; the keys here are: use, id, when, options, timeout, memory, output, isolation, on-timeout, on-limit, on-crash

    === an option beside the options
    - use: mime
      allow: image/*
    > 4:3: unknown key 'allow'; it is an option of 'mime': write it under 'options'

    === budgets without a unit
    - use: mime
      timeout: 30
      memory: 268435456
      output: 100
    > 4:12: 'timeout' wants a duration, and 30 is a bare number; write 30s for seconds or 30ms for milliseconds
    > 5:11: 'memory' wants a size, and 268435456 is a bare number; write 256MB or 268435456B
    > 6:11: 'output' wants a size, and 100 is a bare number; write 100MB for megabytes or 100B for bytes

    === budgets out of bounds
    - use: mime
      timeout: 0s
      memory: 1MB
      output: 2TB
    > 4:12: 'timeout' is 0s, which is too little; write a value from 1ms to 24h
    > 5:11: 'memory' is 1MB, which is too little; write a value from 16MB to 64GB
    > 6:11: 'output' is 2TB, which is too much; write a value from 0B to 1TB

    === too much memory
    - use: mime
      memory: 65GB
    > 4:11: 'memory' is 65GB, which is too much; write a value from 16MB to 64GB

    === choices that there are not
    - use: mime
      isolation: process
      on-timeout: rejct
      on-limit: stop
      on-crash: no
    > 4:14: 'isolation' knows no 'process'; the choices are: worker, fresh
    > 5:15: 'on-timeout' knows no 'rejct'; did you mean 'reject'?
    > 6:13: 'on-limit' knows no 'stop'; the choices are: reject, retry, hold, pass
    > 7:13: 'on-crash' knows no 'no'; the choices are: reject, retry, hold, pass

    === conditions that match nothing
    - use: mime
      when: []
    - use: size
      when: pdf
    - use: pdf
      when: [image, application/pdf, '*/pdf']
    > 4:9: 'when' is an empty list; list one value at least, or leave 'when' out
    > 6:9: 'when' wants a media type pattern, not 'pdf'; write one such as application/pdf, "image/*" or "*/*"
    > 8:10: 'when' wants a media type pattern, not 'image'; did you mean 'image/*'?
    > 8:34: 'when' wants a media type pattern, not '*/pdf'; write one such as application/pdf, "image/*" or "*/*"

    === conditions before anything finds a media type
    - use: size
    - use: pdf
      when: application/pdf
    - use: mime
    - use: pdf
      id: again
      when: application/pdf
    > 4:8: stage 'pdf' would never run: no stage before it finds the media type that 'when' asks for; put 'use: mime' before it, or leave 'when' out

    === two stages of one name
    - use: mime
    - use: mime
    > 4:8: two stages are called 'mime', the first at line 3; give one of them an 'id' of its own

    === an id that another stage has by default
    - use: mime
    - use: size
      id: mime
    > 5:7: two stages are called 'mime', the first at line 3; give one of them an 'id' of its own

    === channels as a list
    - use: mime
    channels: [events]
    > 4:11: 'channels' takes a map, not a list; write 'channels: { events: { use: jsonl } }'

    === a channel as a name
    - use: mime
    channels: { events: jsonl }
    > 4:21: a channel is a map, not 'jsonl'; write '{ use: jsonl }'

    === a channel's name with capitals
    - use: mime
    channels: { Events: { use: jsonl, options: { path: e } } }
    > 4:13: 'Events' is not a name, which has lower case letters, digits and '-' only; write 'events'

    === stage keys at a channel
    - use: mime
    channels: { events: { use: jsonl, when: image/*, isolation: fresh, options: { path: e } } }
    > 4:35: unknown key 'when'; a channel takes use, options, retry, timeout, memory only
    > 4:50: unknown key 'isolation'; a channel takes use, options, retry, timeout, memory only

    === channel keys nobody knows
    - use: mime
    channels: { events: { use: jsonl, tiemout: 1s, path: e } }
    > 4:35: unknown key 'tiemout'; did you mean 'timeout'?
    > 4:48: unknown key 'path'; it is an option of 'jsonl': write it under 'options'

    === a channel called like a stage
    - use: mime
    channels: { mime: { use: jsonl, options: { path: e } } }
    > 4:13: the channel 'mime' is called like the stage at line 3; give one of them another name
    """#)
}
