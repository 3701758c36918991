import LedgerPort

/// The folders that files have to lie in to be taken in.
///
/// It looks at paths alone. A path without links and without `..` below a folder leads to a file below it, and a source is opened
/// without following a link: a link that is put there later leads nowhere.
public struct IntakeBound: Sendable {
  private let folders: [[UInt8]]

  /// - Parameter folders: absolute paths without links; at least one.
  public init(_ folders: [[UInt8]]) {
    self.folders = folders
  }

  /// Why a file is not taken in; `nil`: it lies in one of the folders.
  ///
  /// - Parameters:
  ///   - path: absolute.
  ///   - origin: where it was named.
  public func problem(_ path: [UInt8], origin: String) -> IntakeProblem? {
    if folders.contains(where: { Self.isPlain(path) && Self.contains($0, path) }) { return nil }
    let names = folders.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " and ")
    return IntakeProblem(
      origin, path: String(decoding: path, as: UTF8.self),
      "lies outside of \(names), and only files in there are taken in (--root)",
      kind: "lies outside of \(names), and only files in there are taken in (--root)")
  }

  /// Whether a path is a folder or in it. Compared by bytes, as the kernel does.
  public static func contains(_ folder: [UInt8], _ path: [UInt8]) -> Bool {
    let slash = UInt8(ascii: "/")
    return path.starts(with: folder)
      && (path.count == folder.count || folder == [slash] || path[folder.count] == slash)
  }

  /// Whether a path is absolute, and no part of it leads back.
  private static func isPlain(_ path: [UInt8]) -> Bool {
    guard path.first == UInt8(ascii: "/") else { return false }
    let parts = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return !parts.contains { $0.isEmpty || $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
  }
}

/// The files of a message that lie outside, taken out of it; and put into its answer.
struct RefusedItems {
  /// By command and place in it, in order.
  private var items: [(command: Int, place: Int, problem: IntakeProblem)] = []

  /// Takes those out that lie outside.
  init(of commands: inout [Command], _ bound: IntakeBound?) {
    guard let bound else { return }
    for (number, command) in commands.enumerated() {
      guard case .takeIn(let all) = command else { continue }
      var left: [IntakeItem] = []
      for (place, item) in all.enumerated() {
        if item.url == nil, let problem = bound.problem(item.file, origin: item.origin) {
          items.append((number, place, problem))
        } else {
          left.append(item)
        }
      }
      if left.count < all.count { commands[number] = .takeIn(left) }
    }
  }

  /// The answer to the message as it was.
  func added(to results: [CommandResult]) -> [CommandResult] {
    if items.isEmpty { return results }
    return results.enumerated().map { number, result in
      guard case .takenIn(var report) = result else { return result }
      for item in items where item.command == number {
        report.outcomes.insert(.refused, at: min(item.place, report.outcomes.count))
        report.problems.append(item.problem)
      }
      return .takenIn(report)
    }
  }
}
