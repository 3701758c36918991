/// Code that reads input from outside, and the rules that must hold for every input.
struct FuzzTarget: Sendable {
  /// The name of the target, and of its folder of seeds.
  let name: String
  /// The longest input that is tried, in bytes.
  var longest = 4096
  let run: @Sendable ([UInt8]) throws -> Void

  static let all: [FuzzTarget] = [
    pipeline, cases, workerFrames, coordinatorFrames, manifest, paths, mediaTypes, quantities, json, mime,
    pdf, pictures,
    textFile, jsonl, webhook, http, scan, pluginFile, requests, targets, clientFields, frontFrames,
    forms, tokens, clamd, doorFrames, programLines, stageFile, mailHeader, mailbox, archive, mail,
  ]
}

/// A rule that does not hold.
struct Violation: Error, CustomStringConvertible {
  let description: String
}

func demand(_ condition: Bool, _ sentence: @autoclosure () -> String) throws(Violation) {
  if !condition { throw Violation(description: sentence()) }
}

/// An input as text, as most readers get it.
func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
