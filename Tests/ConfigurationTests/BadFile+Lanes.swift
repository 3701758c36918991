extension BadFile {
  /// Downloads and what is said to hosts. Lines are counted from the fourth.
  static let lanes = table(
    startingWith: """
      version: 1
      stages:
      - use: mime

      """,
    #"""
    === lanes are no map
    lanes: http
    > 4:8: 'lanes' takes a map, not 'http'; write 'lanes: { downloads: { use: http } }'

    === a lane that is none
    lanes: { uploads: { use: http } }
    > 4:10: 'uploads' is no lane that is set up here; write 'lanes: { downloads: { use: http } }'

    === a stage that fetches nothing
    lanes: { downloads: { use: mime } }
    > 4:28: 'mime' fetches no links; name a source, such as 'use: http'

    === a lane without a source
    lanes: { downloads: { connections: 4 } }
    > 4:21: the lane does not say which plugin it uses; add 'use: NAME'

    === what is fetched by itself is no map
    lanes: { downloads: { use: http, prefetch: 50 } }
    > 4:44: 'prefetch' takes a map, not '50'; write 'prefetch: { messages: 50 }'

    === what is fetched by itself is not said
    lanes: { downloads: { use: http, prefetch: {} } }
    > 4:44: 'prefetch' does not say of how many messages; write 'prefetch: { messages: 50 }'

    === of no message
    lanes: { downloads: { use: http, prefetch: { messages: 0 } } }
    > 4:56: 'messages' is 0, which is too little; write a value from 1 to 10000

    === of what is none
    lanes: { downloads: { use: http, prefetch: { message: 50 } } }
    > 4:46: unknown key 'message'; did you mean 'messages'?

    === a source as a channel
    channels: { links: { use: http } }
    > 4:27: 'http' fetches content, which no stage and no channel does; write 'lanes: { downloads: { use: http } }'

    === a credential that is not there
    lanes: { downloads: { use: http, credential: fils } }
    credentials: { files: { header: "a: b", hosts: [h] } }
    > 4:46: there is no credential 'fils'; did you mean 'files'?

    === a credential that is half
    credentials: { files: { header: "a: b" } }
    > 4:23: the credential 'files' lacks 'hosts'; write 'credentials: { files: { header: "authorization: …", hosts: [files.example.com] } }'

    === someone is signed out, and nobody says who
    credentials: { files: { header: "a: b", hosts: [h], on-401: sign-out } }
    > 4:61: 'on-401: sign-out' does not say who is signed out; add 'owner: NAME', a participant

    === what a refusal does not lead to
    credentials: { files: { header: "a: b", hosts: [h], owner: ann, on-401: signout } }
    > 4:73: 'on-401' knows no 'signout'; did you mean 'sign-out'?

    === a header that belongs to the request
    credentials: { files: { header: "Range: secret", hosts: [h] } }
    > 4:33: 'header' sets 'range', which belongs to the request itself and is no credential's; write one such as 'authorization: Bearer …', 'cookie: …' or 'x-api-key: …'

    === a header that is none is not shown
    credentials: { files: { header: "secret", hosts: [h] } }
    > 4:33: 'header' is no line such as 'authorization: Bearer …' in plain ASCII; write the header's name, a colon and its value
    """#)
}
