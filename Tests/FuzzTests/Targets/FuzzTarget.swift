/// Code that reads what comes from outside, and what must hold whatever it reads.
struct FuzzTarget: Sendable {
  /// Also that of its folder of seeds.
  let name: String
  /// The longest input that is tried, in bytes.
  var longest = 4096
  let run: @Sendable ([UInt8]) throws -> Void

  static let all: [FuzzTarget] = [
    pipeline, cases, workerFrames, coordinatorFrames, manifest, paths, mediaTypes, quantities, json, mime,
    pdf,
    textFile, jsonl, webhook, scan, pluginFile,
  ]
}

/// Something that should hold and does not.
struct Violation: Error, CustomStringConvertible {
  let description: String
}

func demand(_ condition: Bool, _ sentence: @autoclosure () -> String) throws(Violation) {
  if !condition { throw Violation(description: sentence()) }
}

/// An input as a text, as most readers get it.
func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
