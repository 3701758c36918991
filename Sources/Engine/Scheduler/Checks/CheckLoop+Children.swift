import CPlatform
import Glibc
import Objects
import Pipeline
import Platform
import Synchronization
import Wire

// What is taken out of a content is checked like it: the content is clean if all of it is.
extension CheckLoop {
  /// A content whose children are being checked.
  final class Expanding {
    let one: Pending
    /// Where it stands in its tree, whose figures all in it share.
    let tree: Tree
    let depth: Int64
    /// Children that are not answered.
    var open: Int
    /// The first answer that is not clean; one that found something before one that is not decided.
    var worst: CheckResult?

    init(_ one: Pending, _ tree: Tree, depth: Int64, open: Int) {
      (self.one, self.tree, self.depth, self.open) = (one, tree, depth, open)
    }
  }

  /// What has come out of one content that was asked about, at all levels.
  final class Tree {
    /// The serial of the flight of the first content. The lower, the longer it has been in hand.
    let root: UInt64
    var contents: Int64 = 0
    var bytes: Int64 = 0

    init(root: UInt64) {
      self.root = root
    }
  }

  /// One that is to be checked.
  struct Child {
    var part: FilePart
    var piece: Piece
    /// The serial of its parent's flight.
    var parent: UInt64
    var deadline: UInt64
  }

  /// The answers to children, until the loop looks at them.
  final class Answers: Sendable {
    private let answers = Mutex<[(parent: UInt64, name: String, result: CheckResult)]>([])

    func add(_ parent: UInt64, _ name: String, _ result: CheckResult) {
      answers.withLock { $0.append((parent, name, result)) }
    }

    func take() -> [(parent: UInt64, name: String, result: CheckResult)] {
      answers.withLock { answers in
        defer { answers = [] }
        return answers
      }
    }
  }

  /// Has what was taken out of a content checked.
  func expand(_ one: Pending) {
    let flight = one.flight
    let held = flight.run.pieces.filter { $0.piece.kind == .child }
    let (tree, depth) = parents[flight.serial].map { ($0.tree, $0.depth) } ?? (Tree(root: flight.serial), 0)
    let bytes = held.reduce(0) { $0 + Int64($1.piece.range.count) }
    let problem = pipeline.expand.problem(
      with: ChildRoom(contents: Int64(held.count), bytes: bytes),
      at: TreePlace(depth: depth, contents: tree.contents, bytes: tree.bytes))
    if let (code, message) = problem {
      flight.run.refuseChildren(code, message)
      return route(one)
    }
    tree.contents += Int64(held.count)
    tree.bytes += bytes
    pending[flight.serial] = nil
    expanding[flight.serial] = Expanding(one, tree, depth: depth, open: held.count)
    children[tree.root, default: []] += held.map {
      Child(
        part: FilePart(flight.pieceFiles[$0.file], $0.piece.range), piece: $0.piece, parent: flight.serial,
        deadline: one.deadline)
    }
    sluice_eventfd_raise(inbox.readable)
  }

  /// Whether memory that others wait for comes back by its going on. What is taken out of a content lies in memory until all of it
  /// is answered, and may have to be taken apart itself: the first content in hand goes on to its end, also where there is
  /// no room for new content, and the others wait for that. If each went on a little, none might come to its end.
  func goesFirst(_ flight: Flight) -> Bool {
    guard let first = expanding.values.lazy.map(\.tree.root).min() else { return flight.memoryInUse > 0 }
    return root(of: flight.serial) == first
  }

  func root(of serial: UInt64) -> UInt64 { parents[serial]?.tree.root ?? serial }

  /// Children in hand at once, of all trees; and those of the first content that begin all the same: the others may all wait for it.
  private static let mostChildren = 64
  private static let placesOfTheFirst = 16

  /// The content of which a child is to begin next: that with the fewest in hand, so that none has to wait for the end of another.
  private func nextRoot(_ inHand: [UInt64: Int], all: Int) -> UInt64? {
    if all < Self.mostChildren {
      return children.keys.min { (inHand[$0, default: 0], $0) < (inHand[$1, default: 0], $1) }
    }
    return children.keys.min().flatMap { inHand[$0, default: 0] < Self.placesOfTheFirst ? $0 : nil }
  }

  /// Begins with children, as many as there is room for.
  func beginChildren() {
    if children.isEmpty { return }
    var inHand: [UInt64: Int] = [:]
    for serial in pending.keys { if let root = parents[serial]?.tree.root { inHand[root, default: 0] += 1 } }
    var all = inHand.values.reduce(0, +)
    while let root = nextRoot(inHand, all: all), let child = children[root]?.popLast() {
      if children[root]?.isEmpty == true { children[root] = nil }
      guard let parent = expanding[child.parent] else { continue }
      let (name, answers, serial) = (child.piece.name, answers, child.parent)
      let asked: Checker.Asked
      do throws(SystemError) {
        let check = Check(
          try child.part.memory(), fileName: name.isEmpty ? "content" : name,
          declaredType: child.piece.mediaType, owner: parent.one.asked.check.owner)
        asked = Checker.Asked(check: check) { answers.add(serial, name, $0) }
      } catch {
        answers.add(serial, name, .unknown("unreadable", "\(error)"))
        continue
      }
      begin(asked, deadline: child.deadline) { self.parents[$0] = (parent.tree, parent.depth + 1) }
      inHand[root, default: 0] += 1
      all += 1
    }
  }

  /// Takes the answers to children, and those to which these lead.
  func takeAnswers() {
    while case let all = answers.take(), !all.isEmpty { take(all) }
  }

  private func take(_ answers: [(parent: UInt64, name: String, result: CheckResult)]) {
    for (serial, name, result) in answers {
      guard let parent = expanding[serial] else { continue }
      parent.open -= 1
      if result.verdict == .found && parent.worst?.verdict != .found
        || result.verdict == .unknown && parent.worst == nil
      {
        parent.worst = result
        parent.worst?.reason = result.reason.map {
          Reason(
            stage: $0.stage, code: $0.code, message: "in '\(name.isEmpty ? "content" : name)': \($0.message)")
        }
      }
      // One that was found decides it.
      if parent.open == 0 || parent.worst?.verdict == .found { conclude(parent) }
    }
  }

  private func conclude(_ parent: Expanding) {
    let (one, serial) = (parent.one, parent.one.flight.serial)
    expanding[serial] = nil
    children[parent.tree.root]?.removeAll { $0.parent == serial }
    if children[parent.tree.root]?.isEmpty == true { children[parent.tree.root] = nil }
    one.flight.run.expanded()
    guard let worst = parent.worst else {
      pending[serial] = one
      return route(one)
    }
    finish(one, result(one, worst.verdict, worst.reason))
  }
}

extension FilePart {
  /// A copy of it in memory, which nothing can change.
  fileprivate func memory() throws(SystemError) -> SharedDescriptor {
    let number = sluice_memfd("sluice-content", 1)
    if number < 0 { throw SystemError("making room for a content") }
    let file = SharedDescriptor(Descriptor(owning: number))
    try each { (bytes) throws(SystemError) in
      var rest = bytes
      while !rest.isEmpty {
        let count = write(number, rest.baseAddress, rest.count)
        if count < 0 && errno == EINTR { continue }
        if count < 0 { throw SystemError("copying a content") }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
    }
    if sluice_seal(number) != 0 { throw SystemError("sealing a content") }
    return file
  }
}
