extension BadFile {
  /// The keys of the file itself.
  static let keys = table(
    #"""
    === no version
    stages:
    - use: mime
    > 1:1: the file does not say its version; add 'version: 1' at the top

    === no version and no stages
    channels: {}
    > 1:1: the file does not say its version; add 'version: 1' at the top
    > 1:1: there are no stages; list one at least: 'stages: [{ use: mime }]'

    === a version to come
    version: 2
    stages: something new
    > 1:10: version 2 is not known here; write 'version: 1'

    === a version in quotes
    version: "1"
    stages:
    - use: mime
    > 1:10: 'version' wants a whole number, and "1" in quotes is text; write 1 without quotes

    === a version without a number
    version:
    stages:
    - use: mime
    > 1:9: 'version' has no value; write a value such as 1

    === stages left empty
    version: 1
    stages:
    > 2:8: there are no stages; list one at least: 'stages: [{ use: mime }]'

    === an empty list of stages
    version: 1
    stages: []
    > 2:9: there are no stages; list one at least: '- use: mime'

    === stages misspelt
    version: 1
    stage:
    - use: mime
    > 2:1: unknown key 'stage'; did you mean 'stages'?

    === stages as a map
    version: 1
    stages: { use: mime }
    > 2:9: 'stages' takes a list, not a map; begin each stage with '- use: NAME'

    === stages as names
    version: 1
    stages: [mime]
    > 2:10: a stage is a map, not 'mime'; write '{ use: mime }'

    === stages that are nothing or a list
    version: 1
    stages:
    -
    - [mime]
    > 3:2: a stage is a map, not nothing; write '{ use: NAME }'
    > 4:3: a stage is a map, not a list; write '{ use: NAME }'

    === a key nobody knows
    version: 1
    stages:
    - use: mime
    logging: loud
    > 4:1: unknown key 'logging'; the keys here are: version, plugins, stages, channels, lanes, credentials, retry, keep, expand, secrets, serve, sandbox, workers, memory-total, reuse, turns

    === what is kept is no map
    version: 1
    stages:
    - use: mime
    keep: 90d
    > 4:7: 'keep' takes a map, not '90d'; write 'keep: { completed: 90d, rejected: 7d, bytes: 500GB }'

    === what is kept is misspelled, or no duration
    version: 1
    stages:
    - use: mime
    keep: { complete: 90d, rejected: 7, bytes: 1KB }
    > 4:9: unknown key 'complete'; did you mean 'completed'?
    > 4:34: 'rejected' wants a duration, and 7 is a bare number; write 7s for seconds or 7ms for milliseconds
    > 4:44: 'bytes' is 1KB, which is too little; write a value from 1MB to 1048576TB

    === what comes out of contents is no map
    version: 1
    stages:
    - use: mime
    expand: 90d
    > 4:9: 'expand' takes a map, not '90d'; write 'expand: { depth: 3, contents: 1000, bytes: 1GB }'

    === what comes out of contents is misspelled, or out of range
    version: 1
    stages:
    - use: mime
    expand: { deep: 3, depth: 51, contents: many, bytes: 1000000TB, wait: maybe, time: 0s }
    > 4:11: unknown key 'deep'; the keys here are: depth, contents, bytes, time, wait
    > 4:27: 'depth' is 51, which is too much; write a value from 0 to 50
    > 4:41: 'contents' wants a whole number, not 'many'; write a value from 0 to 100000
    > 4:54: 'bytes' is 1000000TB, which is too much; write a value from 0B to 1024TB
    > 4:71: 'wait' wants true or false, not 'maybe'; write true or false
    > 4:84: 'time' is 0s, which is too little; write a value from 1ms to 8760h

    === what clients may do is no map
    version: 1
    stages:
    - use: mime
    serve: yes
    > 4:8: 'serve' takes a map, not 'yes'; write 'serve: { listen: 127.0.0.1:8080, max-size: 10MB }'

    === what clients may do is misspelled, or too much, and an address is a name
    version: 1
    stages:
    - use: mime
    serve: { listen: [files.example:80, "[::1]:80"], max-sise: 1MB, uploads: 0 }
    > 4:19: 'files.example:80' is no address to listen at; write 127.0.0.1:8080, [::1]:8080, unix:/path or systemd; names are not looked up
    > 4:50: unknown key 'max-sise'; did you mean 'max-size'?
    > 4:74: 'uploads' is 0, which is too little; write a value from 1 to 10000

    === origins as no browser sends them
    version: 1
    stages:
    - use: mime
    serve: { origins: ["https://*.example.com", "https://app.example.com:443", HTTPS://app.example.com, app.example.com, "https://app.example.com/page", "capacitor://localhost", "http://[::1]:8080", "https://app.example.com:"] }
    > 4:20: 'https://*.example.com' is no origin as browsers send it; write https://app.example.com in small letters, with a port where it is not the usual one, without a path and without '*'; of an app capacitor://localhost
    > 4:45: 'https://app.example.com:443' is no origin as browsers send it; write https://app.example.com in small letters, with a port where it is not the usual one, without a path and without '*'; of an app capacitor://localhost
    > 4:76: 'HTTPS://app.example.com' is no origin as browsers send it; write https://app.example.com in small letters, with a port where it is not the usual one, without a path and without '*'; of an app capacitor://localhost
    > 4:101: 'app.example.com' is no origin as browsers send it; write https://app.example.com in small letters, with a port where it is not the usual one, without a path and without '*'; of an app capacitor://localhost
    > 4:118: 'https://app.example.com/page' is no origin as browsers send it; write https://app.example.com in small letters, with a port where it is not the usual one, without a path and without '*'; of an app capacitor://localhost
    > 4:196: 'https://app.example.com:' is no origin as browsers send it; write https://app.example.com in small letters, with a port where it is not the usual one, without a path and without '*'; of an app capacitor://localhost

    === plugins that are no list
    version: 1
    stages:
    - use: mime
    plugins: lib
    > 4:10: 'plugins' takes a list, not one value; write 'plugins: [lib]'

    === plugin folders that lead nowhere
    version: 1
    stages:
    - use: mime
    plugins: [~/lib, '']
    > 4:11: '~/lib' begins with '~', which only a shell fills in; write '${HOME}/lib'
    > 4:18: a folder of 'plugins' is empty; write '.' for the folder of this file

    === plugin folders that are no texts
    version: 1
    stages:
    - use: mime
    plugins: [[lib], null]
    > 4:11: each item of 'plugins' is one value, not a list; write a value such as ./plugins
    > 4:18: each item of 'plugins' needs a value; write one, or remove it

    === retry as a number
    version: 1
    stages:
    - use: mime
    retry: 3
    > 4:8: 'retry' takes a map, not '3'; write 'retry: { attempts: 3, backoff: 1s, max: 1m }'

    === retry with everything wrong
    version: 1
    stages:
    - use: mime
    retry: { attempts: 0, backoff: 5, mx: 1m }
    > 4:20: 'attempts' is 0, which is too little; write a value from 1 to 100
    > 4:32: 'backoff' wants a duration, and 5 is a bare number; write 5s for seconds or 5ms for milliseconds
    > 4:35: unknown key 'mx'; did you mean 'max'?

    === too many attempts
    version: 1
    stages:
    - use: mime
    retry: { attempts: 101 }
    > 4:20: 'attempts' is 101, which is too much; write a value from 1 to 100

    === a longest wait below the first
    version: 1
    stages:
    - use: mime
    retry: { backoff: 5m, max: 1m }
    > 4:28: 'max' is 1m, less than the 5m of 'backoff'; write 'max: 5m' or more

    === a first wait above the longest by default
    version: 1
    stages:
    - use: mime
    retry: { backoff: 5m }
    > 4:19: 'max' is 1m by default, less than the 5m of 'backoff'; write 'max: 5m' or more

    === a longest wait below the first by default
    version: 1
    stages:
    - use: mime
    retry: { max: 500ms }
    > 4:15: 'max' is 500ms, less than the 1s of 'backoff' by default; write 'max: 1s' or more

    === a wait misspelt, which leaves nothing to compare
    version: 1
    stages:
    - use: mime
    retry: { bakoff: 100ms, max: 500ms }
    > 4:10: unknown key 'bakoff'; did you mean 'backoff'?

    === a wait that is none, which leaves nothing to compare
    version: 1
    stages:
    - use: mime
    retry: { backoff: short, max: 500ms }
    > 4:19: 'backoff' wants a duration, not 'short'; write a whole number and a unit (ms, s, m, h, d), such as 1s

    === a sandbox that is no choice
    version: 1
    stages:
    - use: mime
    sandbox: yes
    > 4:10: 'sandbox' knows no 'yes'; the choices are: require, prefer, off

    === too many workers
    version: 1
    stages:
    - use: mime
    workers: 257
    > 4:10: 'workers' is 257, which is too much; write a value from 1 to 256

    === workers in quotes
    version: 1
    stages:
    - use: mime
    workers: '4'
    > 4:10: 'workers' wants a whole number, and "4" in quotes is text; write 4 without quotes

    === variables that do not fit
    version: 1
    stages:
    - use: mime
      timeout: ${SOON}
      memory: ${EMPTY}
    > 4:12: 'timeout' wants a duration, not 'soon' (from '${SOON}'); write a whole number and a unit (ms, s, m, h, d), such as 30s
    > 5:11: 'memory' has no value (from '${EMPTY}'); write a value such as 256MB, or leave it out

    === a misspelt key that ends the reading
    version: 1
    stages:
    - ues: mime
    plugins: lib
    > 3:3: unknown key 'ues'; did you mean 'use'?
    > 4:10: 'plugins' takes a list, not one value; write 'plugins: [lib]'
    """#)
}
