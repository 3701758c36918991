import LedgerPort
import Platform

/// The inputs that are not taken in, by what is wrong with them. Its size is bounded, however many there are: a mistake may be on
/// each of a million lines.
public struct ProblemGroups: Sendable {
  /// Problems that are alike.
  private struct Group {
    /// The message of the first.
    var message: String
    var count = 0
    /// Where they are in the manifest.
    var lines = LineRanges()
  }

  /// So many of a kind are shown one by one.
  public static let shown = 5
  /// The most kinds that are told apart.
  static let limit = 100

  /// The manifest's name, as the places of its lines begin; `nil`: there is none.
  private let manifest: String?
  private var groups: [String: Group] = [:]
  /// The kinds, in order of appearance.
  private var order: [String] = []

  public init(manifest: String?) {
    self.manifest = manifest
  }

  /// How many there are.
  public private(set) var count = 0

  /// Takes note of a problem. Returns whether to show it by itself.
  public mutating func add(_ problem: IntakeProblem) -> Bool {
    count += 1
    var kind = Self.kind(of: problem.kind ?? problem.message)
    if groups[kind] == nil && order.count >= Self.limit { kind = "" }
    if groups[kind] == nil {
      order.append(kind)
      groups[kind] = Group(message: kind.isEmpty ? "other reasons" : problem.kind ?? problem.message)
    }
    groups[kind]?.count += 1
    if let line = line(of: problem) { groups[kind]?.lines.add(line) }
    return groups[kind].map { $0.count <= Self.shown } ?? true
  }

  /// The line of the manifest that a problem is about; `nil`: it is about no line.
  public func line(of problem: IntakeProblem) -> Int? {
    guard let manifest, problem.origin.hasPrefix(manifest + ":") else { return nil }
    return Int(problem.origin.dropFirst(manifest.count + 1))
  }

  /// A line for each kind of which some were not shown, with their number and their places, and one that says how to see all.
  public var rest: [String] {
    let hidden = order.compactMap { groups[$0] }.filter { $0.count > Self.shown }
    if hidden.isEmpty { return [] }
    return hidden.map(text) + ["`--format json` prints a record of each problem on standard output"]
  }

  private func text(_ group: Group) -> String {
    let number = Count.grouped(group.count)
    guard let manifest, !group.lines.ranges.isEmpty else {
      return "\(number) in all: \(group.message)"
    }
    return "\(number) in all: \(group.message): lines \(group.lines.text) of \(manifest)"
  }

  /// Numbers do not distinguish kinds, unless they are part of a quoted name.
  private static func kind(of text: String) -> String {
    var kind = ""
    var isQuoted = false
    for character in text {
      if character == "'" { isQuoted.toggle() }
      if isQuoted || !character.isNumber { kind.append(character) }
    }
    return kind
  }
}
