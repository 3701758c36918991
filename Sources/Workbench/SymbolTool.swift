import Glibc
import Pipeline
import Platform
import Workers

/// Finds the functions and lines of a crash in the plugin's file.
///
/// The lines stand in what `-g` leaves in the file. They are read by addr2line(1) of Debian's binutils, or by
/// llvm-symbolizer(1). Without either, or without `-g`, functions come from the file's table of symbols.
public struct SymbolTool: Sendable {
  /// Where in the code it was.
  struct Places {
    /// The one that the author knows best: `in greet (greeting.c:57), libsluice-greeting.so+0x11a9`.
    var main: String
    /// All of them, innermost first.
    var all: [String]
  }

  /// The program and its words, to be followed by the file's name and the offsets.
  private let words: [String]

  /// Milliseconds that the program may take. Its input may be hostile.
  private static let timeout: Int64 = 5000
  private static let outputLimit = 64 << 10

  /// - Parameter path: `$PATH`.
  public init(path: String) {
    func find(_ name: String) -> String? {
      path.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }
    words =
      find("addr2line").map { [$0, "-a", "-C", "-f", "-i", "-e"] }
      ?? find("llvm-symbolizer").map { [$0, "--output-style=GNU", "-a", "-f", "-i", "-e"] } ?? []
  }

  /// Only the plugin's own file is read. Names of others come from a process that has crashed, and may be any file's.
  func places(of site: CrashSite, in file: String) -> Places {
    let module = CrashSite.module(of: file)
    let own = site.frames.filter { $0.module == module }
    let found = own.isEmpty ? [] : found(own.map(\.offset), in: file)
    var names: [UInt64: Place] = [:]
    for (frame, place) in zip(own, found) { names[frame.offset] = place }
    let table = own.isEmpty ? nil : PluginSymbols(file)
    /// The function with its line; `nil`: only the offset is known.
    func function(_ frame: CrashSite.Frame) -> String? {
      guard frame.module == module else { return nil }
      // Without a line a tool names the symbol before, however far away it is.
      guard let place = names[frame.offset], let name = place.function, let line = place.line else {
        return table?.function(at: frame.offset).map(Demangling.text)
      }
      return "\(Demangling.text(name)) (\(line))"
    }
    let first = site.frame(in: file)
    var main = function(first).map { "in \($0), \(first.text)" } ?? "at \(first.text)"
    if !own.isEmpty && names.values.allSatisfy({ $0.line == nil }) {
      main +=
        words.isEmpty
        ? "; with binutils or llvm installed it has its line" : "; built with -g it has its line"
    }
    // Below the stage's own frames are the worker's.
    let last = site.frames.lastIndex { $0.module == module } ?? site.frames.indices.last ?? 0
    return Places(
      main: main,
      all: site.frames[...last].map { frame in function(frame).map { "\($0), \(frame.text)" } ?? frame.text })
  }

  struct Place {
    var function: String?
    /// Such as `greeting.c:57`.
    var line: String?
  }

  private func found(_ offsets: [UInt64], in file: String) -> [Place] {
    guard let program = words.first else { return [] }
    let output = ToolOutput.of(
      program, Array(words.dropFirst()) + [file] + offsets.map { "0x\(String($0, radix: 16))" },
      within: Self.timeout, limit: Self.outputLimit)
    return Self.places(output.split(separator: "\n").map { $0 }, count: offsets.count)
  }

  /// For each address its line, and two lines for each function that is there, the innermost of those that were inlined first:
  /// the name, and `file:line`. What is not known is `??`, and what the compiler made has line 0.
  private static func places(_ lines: [Substring], count: Int) -> [Place] {
    var places: [Place] = []
    var index = 0
    while index < lines.count, places.count < count {
      guard lines[index].hasPrefix("0x") else { return places }
      index += 1
      var place = Place()
      while index + 1 < lines.count, !lines[index].hasPrefix("0x") {
        if place.line == nil, let line = line(lines[index + 1]), !lines[index].hasPrefix("??") {
          place = Place(function: String(lines[index].prefix(1000)), line: line)
        }
        index += 2
      }
      places.append(place)
    }
    return places
  }

  /// The file without its folder, with the line; `nil`: not known.
  private static func line(_ text: Substring) -> String? {
    let text = text.prefix { $0 != " " }  // `(discriminator 2)`
    guard !text.hasPrefix("??"), !text.contains("<"), !text.hasSuffix(":0"), !text.hasSuffix(":?") else {
      return nil
    }
    return text.split(separator: "/").last.map(String.init)
  }
}
