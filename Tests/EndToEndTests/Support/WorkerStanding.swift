import Foundation

/// The facts about a process from /proc.
struct WorkerStanding {
  private let statusLines: [Substring]
  private let limitLines: [Substring]
  private let maps: String

  init(of pid: Int32) {
    func text(_ name: String) -> String {
      String(decoding: FileManager.default.contents(atPath: "/proc/\(pid)/\(name)") ?? Data(), as: UTF8.self)
    }
    statusLines = text("status").split(separator: "\n")
    limitLines = text("limits").split(separator: "\n")
    maps = text("maps")
  }

  func hasLoaded(_ library: String) -> Bool { maps.contains(library) }

  /// A field of `status`.
  func status(_ field: String) -> String {
    let line = statusLines.first { $0.hasPrefix(field + ":") } ?? ""
    return line.dropFirst(field.count + 1).trimmingCharacters(in: .whitespaces)
  }

  /// A hard limit.
  func limit(_ name: String) -> String? {
    let line = limitLines.first { $0.hasPrefix(name) } ?? ""
    return line.dropFirst(name.count).split(separator: " ").dropFirst().first.map(String.init)
  }
}
