import Foundation
import Glibc

// The witness: a program that shares nothing with `sluice` but the reading of SQLite's files. It records what
// it is told and what it observes, and compares that with the home afterwards.

let usage = """
  usage: sluice-witness record --journal FILE [--home DIR] [--events CHANNEL=FILE]… [--listen CHANNEL]
         sluice-witness check --home DIR [--journal FILE] [--drained] [--recipients A,B] [--events CHANNEL=FILE]…
                              [--calls CHANNEL]… [--format text|json]
                              [--depth LEVELS] [--contents COUNT] [--bytes COUNT]
         sluice-witness rules

  record  reads `sluice ingest --format json` from standard input and echoes each line once it is on record; looks at
          the objects it is told of, at files of events, and answers a webhook's calls; --listen tells the port first
  check   0: everything holds; 1: it does not, and each fault is named
  rules   what `check` looks at

  """

func fail(_ message: String) -> Never {
  try? writeAll(Data("sluice-witness: \(message)\n".utf8), to: STDERR_FILENO)
  exit(2)
}

var words = CommandLine.arguments.dropFirst()
guard let command = words.popFirst() else { fail(usage) }

var options = Check.Options(home: "")
var listening: String?
var isJSON = false
while let word = words.popFirst() {
  if word == "--drained" {
    options.isDrained = true
    continue
  }
  guard let value = words.popFirst() else { fail("\(word) needs a value\n\(usage)") }
  switch word {
  case "--home": options.home = value
  case "--journal": options.journal = value
  case "--recipients": options.recipients = Set(value.split(separator: ",").map(String.init))
  case "--calls": options.calls.insert(value)
  case "--listen": listening = value
  case "--depth", "--contents", "--bytes":
    guard let number = Int64(value) else { fail("\(word) needs a number\n\(usage)") }
    switch word {
    case "--depth": options.depth = number
    case "--contents": options.contents = number
    default: options.bytes = number
    }
  case "--format": isJSON = value == "json"
  case "--events":
    let parts = value.split(separator: "=", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { fail("--events CHANNEL=FILE\n\(usage)") }
    options.events[parts[0]] = parts[1]
  default: fail("unknown option \(word)\n\(usage)")
  }
}

do {
  switch command {
  case "record":
    guard let journal = options.journal else { fail("record needs --journal\n\(usage)") }
    let home = options.home.isEmpty ? nil : options.home
    try Recorder(journal: journal, home: home, events: options.events, calls: listening).run()
  case "check":
    guard !options.home.isEmpty else { fail("check needs --home\n\(usage)") }
    let check = try Check(options)
    try check.run()
    try writeAll(Report.text(check, isJSON: isJSON), to: STDOUT_FILENO)
    exit(check.findings.isEmpty ? 0 : 1)
  case "rules":
    let lines = Rule.allCases.map {
      $0.rawValue.padding(toLength: 20, withPad: " ", startingAt: 0) + $0.promise + "\n"
    }
    try writeAll(Data(lines.joined().utf8), to: STDOUT_FILENO)
  default: fail("unknown command \(command)\n\(usage)")
  }
} catch {
  fail("\(error)")
}
