import Glibc
import Manifest

extension FuzzTarget {
  /// A manifest: JSON lines.
  static let manifest = FuzzTarget(name: "manifest") { bytes in
    let file = try MemoryFile(bytes)
    var origins: [String] = []
    var found: Violation?
    // The reader closes its descriptor.
    try ManifestReader(dup(file.descriptor), name: "m").read(IntakeDefaults()) { result in
      switch result {
      case .failure(let problem):
        origins.append(problem.text.split(separator: ": ", maxSplits: 1).first.map(String.init) ?? "")
      case .success(let item):
        origins.append(item.origin)
        let ids = [item.conversationId, item.messageId ?? "x", item.senderId] + item.participants
        let texts = ids + [item.fileName, item.text ?? "", item.declaredType ?? ""]
        do throws(Violation) {
          try demand(
            ids.allSatisfy { (1...256).contains($0.utf8.count) }, "an id of a wrong length in \(item)")
          try demand(texts.allSatisfy { !$0.utf8.contains(0) }, "a NUL in \(item)")
          try demand(!item.source.isEmpty && !item.source.contains(0), "the path \(item.source)")
          try demand(item.fileName.utf8.count <= 1024, "a name of \(item.fileName.utf8.count) bytes")
        } catch {
          found = error
        }
      }
      return found == nil
    }
    if let found { throw found }
    let lines = bytes.split(separator: 10, omittingEmptySubsequences: false).count
    let numbers = origins.compactMap { Int($0.dropFirst(2)) }
    try demand(numbers.count == origins.count, "a line without its number: \(origins)")
    try demand(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "lines out of order: \(numbers)")
    try demand(
      numbers.allSatisfy { (1...lines).contains($0) }, "a line beyond the \(lines) there are: \(numbers)")
  }
}
