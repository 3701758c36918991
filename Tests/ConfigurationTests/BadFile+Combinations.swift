extension BadFile {
  /// Combinations that are refused although each key is valid.
  static let combinations = table(
    startingWith: "version: 1\nstages:\n",
    #"""
    === a stage that nobody has
    - use: elephant
    > 3:8: unknown stage 'elephant'; 'sluice stages list' shows the stages there are

    === a stage that nobody has, but almost
    - use: sizes
    > 3:8: unknown stage 'sizes'; did you mean 'size'?

    === a plugin that is not found, but almost
    - use: mim
    > 3:8: stage 'mim' cannot be used: there is no such plugin in plugins; did you mean 'mime'?

    === a plugin that is not found, but almost, and how to find it
    - use: pfd
    > 3:8: stage 'pfd' cannot be used: there is no such plugin in plugins; add its folder under 'plugins'

    === a plugin that is not found
    - use: thumbnail
    > 3:8: stage 'thumbnail' cannot be used: there is no such plugin in plugins; 'sluice stages list' shows the stages there are

    === a plugin that does not load
    - use: broken
      allow: x
    > 3:8: stage 'broken' cannot be used: its ABI is 2, and 1 is wanted; build it again with this version's kit
    > 4:3: unknown key 'allow'; the keys here are: use, id, when, options, timeout, memory, output, isolation, on-timeout, on-limit, on-crash

    === a channel among the stages
    - use: jsonl
      options: { path: e }
    > 3:8: 'jsonl' delivers events and is no stage of the line; move it under 'channels', and name it in a stage such as notify

    === stages among the channels
    - use: mime
    channels:
      a: { use: size }
      b: { use: quiet }
    > 5:13: 'size' delivers no events and cannot be a channel; move it under 'stages'
    > 6:13: 'quiet' delivers no events and cannot be a channel; move it under 'stages'

    === stages after the end
    - use: mime
    - use: quiet
    - use: size
    - use: quiet
      id: again
    - use: pdf
    > 5:8: stage 'size' comes after 'quiet' (line 4), which runs at the end; move it before 'quiet'
    > 8:8: stage 'pdf' comes after 'quiet' (line 4), which runs at the end; move it before 'quiet'

    === a process of its own at the end
    - use: quiet
      isolation: fresh
    > 4:14: 'isolation: fresh' does not go with stage 'quiet', which runs at the end, without content; write 'isolation: worker', or leave it out

    === a process of its own for what is gathered
    - use: store
      options: { path: objects }
      isolation: fresh
    > 5:14: 'isolation: fresh' does not go with stage 'store', which gathers attachments and makes them durable together; write 'isolation: worker', or leave it out

    === two objects of one attachment
    - use: store
      options: { path: objects }
    - use: store
      id: again
      options: { path: others }
    > 5:8: stage 'again' stores what 'store' (line 3) has stored; keep one of them; a path may be a map from media types to templates

    === completion without an object
    - use: store
      options: { path: objects }
      on-timeout: pass
      on-limit: pass
      on-crash: pass
    > 5:15: 'on-timeout: pass' would complete attachments that stage 'store' did not store; write reject, retry or hold
    > 6:13: 'on-limit: pass' would complete attachments that stage 'store' did not store; write reject, retry or hold
    > 7:13: 'on-crash: pass' would complete attachments that stage 'store' did not store; write reject, retry or hold

    === a stage with a wrong name, whose other mistakes are told as well
    - use: store
      id: The Store
      options: { path: objects }
      on-crash: pass
    - use: quiet
      id:
    - use: mime
    > 4:7: 'The Store' is not a name, which has lower case letters, digits and '-' only; write 'the-store'
    > 6:13: 'on-crash: pass' would complete attachments that stage 'store' did not store; write reject, retry or hold
    > 8:6: 'id' has no value; write a value such as first-pdf, or leave it out
    > 9:8: stage 'mime' comes after 'quiet' (line 7), which runs at the end; move it before 'quiet'

    === a channel that there is not, but almost
    - use: notify
      options: { channels: [event] }
    channels:
      events: { use: jsonl, options: { path: e } }
    > 4:25: option 'channels' of stage 'notify' names 'event', and there is no such channel; did you mean 'events'?

    === a channel that there is not
    - use: notify
      options: { channels: sms }
    channels:
      events: { use: jsonl, options: { path: e } }
    > 4:24: option 'channels' of stage 'notify' names 'sms', and there is no such channel; the channels are: events

    === a channel where there are none
    - use: notify
      options: { channels: events }
    > 4:24: option 'channels' of stage 'notify' names 'events', and there is no such channel; add it under 'channels'

    === a channel named twice
    - use: notify
      options: { channels: [events, events] }
    channels:
      events: { use: jsonl, options: { path: e } }
    > 4:33: option 'channels' of stage 'notify' names 'events' twice; remove one of the two

    === a channel that is a stage's default
    - use: loud
    > 3:8: the default of option 'channels' of stage 'loud' names 'siren', and there is no such channel; add it under 'channels'

    === a broken channel that a stage names
    - use: notify
      options: { channels: events }
    channels:
      events: { use: elephant }
    > 6:18: unknown channel 'elephant'; 'sluice stages list' shows the stages there are
    """#)
}
