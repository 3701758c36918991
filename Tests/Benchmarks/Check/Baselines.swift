import struct Foundation.Data
import class Foundation.JSONDecoder
import Glibc
import Platform

/// Earlier counts by compiler and processor, because another compiler generates other instructions.
struct Baselines {
  private static let path = Settings.benchmarks + "/baseline.json"
  private var all: [String: [String: Int]] = [:]
  let key: String

  init() throws {
    let child = try Child(["/usr/bin/env", "swiftc", "--version"], out: Ground.output("swiftc"))
    try child.end(as: 0)
    let words = try Files.text(child.out).split(whereSeparator: \.isWhitespace)
    guard let place = words.firstIndex(of: "version"), words.indices.contains(place + 1) else {
      throw BenchError("swiftc --version says no version")
    }
    var machine = utsname()
    uname(&machine)
    let processor = withUnsafeBytes(of: machine.machine) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    key = "swift \(words[place + 1]) \(processor)"
    if Files.exists(Self.path) {
      all = try JSONDecoder().decode([String: [String: Int]].self, from: Data(try Files.bytes(Self.path)))
    }
  }

  var known: [String: Int]? { all[key] }

  mutating func write(_ counts: [String: Int]) throws {
    all[key] = counts
    let entries = all.sorted { $0.key < $1.key }.map { key, counts in
      let lines = counts.sorted { $0.key < $1.key }.map { "    \"\($0.key)\": \($0.value)" }
      return "  \"\(key)\": {\n\(lines.joined(separator: ",\n"))\n  }"
    }
    try Files.write("{\n\(entries.joined(separator: ",\n"))\n}\n", to: Self.path)
    progress("wrote \(Self.path)")
  }
}
