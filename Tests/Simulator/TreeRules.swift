import Foundation
import LedgerPort
import Pipeline

/// What must hold of what stages leave beside contents, and take out of them.
final class TreeRules {
  private let scenario: Scenario
  private unowned let world: World
  private let oracle: Oracle
  private let deeds: DeedRules

  init(_ scenario: Scenario, _ world: World, _ oracle: Oracle, _ deeds: DeedRules) {
    (self.scenario, self.world, self.oracle, self.deeds) = (scenario, world, oracle, deeds)
  }

  private var rules: ExpandRules { scenario.pipeline.expand }

  private func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
    if !condition { world.fail(text()) }
  }

  /// An end is on record.
  ///
  /// - Parameter open: children of an attachment that are queued.
  func ended(_ attachment: EndedAttachment, open: (String) throws -> Int) rethrows {
    guard scenario.hasTrees, oracle.plan.waitsForChildren, attachment.outcome.status == .completed else {
      return
    }
    let count = try open(attachment.origin.id)
    expect(count == 0, "\(attachment.origin.id) is completed before \(count) of its children")
  }

  /// In each image that a crash leaves.
  func check(_ image: LedgerImage) {
    if !scenario.hasTrees { return }
    let staged = Set(world.store.stagedContents.values.map(Chance.digest))
    for attachment in image.attachments {
      if attachment.status == "queued", Scenario.content(ofChild: attachment.fileName) != nil,
        attachment.kept == nil
      {
        expect(
          access(attachment.source, F_OK) == 0,
          "the content of \(attachment.id) is on record, and is not there")
      }
      for object in attachment.derived {
        let isThere = world.store.objects[object.url].map { Chance.digest(of: $0) == object.sha256 }
        expect(
          isThere ?? staged.contains(object.sha256),
          "\(object.name) of \(attachment.id) is on record, and is neither at \(object.url) nor staged")
      }
    }
  }

  // MARK: The end

  /// Returns the paths of derived objects.
  func checkEnd(_ image: LedgerImage) -> [String] {
    if !scenario.hasTrees { return [] }
    let rows = Dictionary(image.attachments.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let children = Dictionary(grouping: image.attachments.filter { $0.parent != nil }) { $0.parent ?? "" }
    for child in image.attachments where child.parent != nil {
      let parent = child.parent.flatMap { rows[$0] }
      expect(parent != nil, "the parent of \(child.id) is not on record")
      expect(parent?.message == child.message, "\(child.id) is of another message than its parent")
    }
    for attachment in image.attachments {
      check(attachment, children[attachment.id] ?? [], rows)
      if attachment.parent == nil { checkSize(attachment, children) }
    }
    return image.attachments.flatMap { $0.derived.map(\.url) }
  }

  private func check(
    _ attachment: LedgerImage.Attachment, _ children: [LedgerImage.Attachment],
    _ rows: [String: LedgerImage.Attachment]
  ) {
    for object in attachment.derived {
      expect(
        world.store.objects[object.url].map(Chance.digest) == object.sha256,
        "\(object.name) of \(attachment.id) is not at \(object.url)")
    }
    let isCompleted = attachment.status == "completed"
    if !isCompleted {
      expect(attachment.derived.isEmpty, "\(attachment.id) is \(attachment.status), and has derived objects")
      if deeds.mayBeCancelled(attachment.id) || deeds.mayBeRetried(attachment.id) { return }
    }
    let all = [true, false].map { verdict(attachment, meets: $0) }
    let verdicts = all.filter { $0.status.rawValue == attachment.status }
    let names = children.map(\.fileName).sorted()
    let isRefused = !isCompleted && ["too-deep", "too-many-contents", "path-taken"].contains(attachment.code)
    expect(
      isRefused
        ? names.isEmpty : verdicts.isEmpty && names.isEmpty || verdicts.contains { $0.children == names },
      "\(names) came out of \(attachment.id), \(attachment.fileName), in the place of \(verdicts.map(\.children))"
    )
    if !isCompleted { return }
    let derived = Dictionary(
      attachment.derived.map { ($0.name, $0.sha256) }, uniquingKeysWith: { first, _ in first })
    expect(
      verdicts.contains { verdict in
        derived.count == verdict.derived.count
          && verdict.derived.allSatisfy { derived[$0.name] == Chance.digest(of: $0.content) }
      },
      "\(attachment.id), \(attachment.fileName), has \(derived.keys.sorted()) beside it, in the place of \(verdicts.map(\.derived))"
    )
    checkCounts(attachment, children)
  }

  private func verdict(_ attachment: LedgerImage.Attachment, meets: Bool) -> Oracle.Verdict {
    if let content = Scenario.content(ofChild: attachment.fileName) {
      return oracle.verdict(content, isLink: false, meets: meets)
    }
    let number = Int(attachment.fileName.drop { $0 != "#" }.dropFirst()) ?? -1
    guard let item = scenario.items.first(where: { $0.number == number }) else {
      return Oracle.Verdict(status: .failed, emissions: 0)
    }
    return oracle.verdict(item, meets: meets)
  }

  /// One that has waited for its children counts them.
  private func checkCounts(_ attachment: LedgerImage.Attachment, _ children: [LedgerImage.Attachment]) {
    guard oracle.plan.waitsForChildren, !children.isEmpty else { return }
    let metadata =
      (try? JSONSerialization.jsonObject(with: Data(attachment.metadata.utf8)) as? [String: Any]) ?? [:]
    var told: [String: Int] = [:]
    for (key, value) in metadata where key.hasPrefix("children.") {
      told[String(key.dropFirst("children.".count))] = value as? Int
    }
    var real = Dictionary(grouping: children, by: \.status).mapValues(\.count)
    real["count"] = children.count
    expect(told == real, "\(attachment.id) says \(told) of its children, and they are \(real)")
  }

  private func checkSize(_ root: LedgerImage.Attachment, _ children: [String: [LedgerImage.Attachment]]) {
    var (level, depth, count) = ([root], 0, 0)
    while depth < 100 {
      level = level.flatMap { children[$0.id] ?? [] }
      if level.isEmpty { break }
      depth += 1
      count += level.count
    }
    expect(Int64(depth) <= rules.depth, "the tree of \(root.id) has \(depth) levels")
    expect(Int64(count) <= rules.contents, "the tree of \(root.id) has \(count) contents")
  }

  /// Whether an attachment may have been rejected because too much came out of it.
  func mayBeRefused(_ content: String, _ code: String?, _ verdicts: [Oracle.Verdict]) -> Bool {
    guard verdicts.contains(where: { !$0.children.isEmpty }) else { return false }
    let level = content.utf8.count { $0 == UInt8(ascii: "/") }
    return code == "too-deep" && Int64(level) >= rules.depth
      || code == "too-many-contents" && rules.contents < 1000
  }
}
