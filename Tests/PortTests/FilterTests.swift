import LedgerPort
import Pipeline
import Platform
import Testing

/// What answers to a filter, page by page, against a plain look at each attachment.
struct FilterTests {
  private static let start: Int64 = 1_700_000_000_000

  /// Three hundred attachments that differ in all that a filter can say, and what is on record of them.
  private func fill(_ bench: Bench, seed: UInt64) throws -> [AttachmentRecord] {
    var draw = RandomExchange(random: SplitMix(state: seed))
    for number in 0..<300 {
      if draw.once(in: 3) { bench.time.pass(Int64(draw.number(1...50))) }
      var item = Sample.item("\(draw.pick(["a", "b", "é"]))\(number)\(draw.pick([".pdf", ".txt", ""]))")
      item.conversationId = draw.pick(["c", "d", "e"])
      item.messageId = draw.pick([nil, "1", "2"])
      item.senderId = item.messageId == nil ? draw.pick(["ann", "cyd"]) : "ann"
      item.reference = draw.pick([nil, "order 3"])
      item.participants = draw.pick([[], ["cyd"], ["ben", "ann"]])
      try bench.takeIn(item)
    }
    for lease in try bench.claim(260) {
      if draw.once(in: 3) { bench.time.pass(Int64(draw.number(1...50))) }
      let status = draw.pick(Status.allCases.filter(\.isFinal))
      let reason = Reason(
        stage: draw.pick(["pdf", "size"]), code: draw.pick(["x", "y", "z"]), message: "so")
      let (type, content) = (
        draw.pick([nil, "image/png", "image/jpeg", "text/plain"]), draw.pick([1, 2, 3] as [UInt8])
      )
      let hasContent = !draw.once(in: 4)
      try bench.settle(
        lease,
        Sample.ended(lease) {
          $0.outcome = AttachmentOutcome(
            status, reason: status == .completed ? nil : reason, mediaType: type,
            sizeBytes: draw.pick([nil, 3, 5, 7]),
            sha256: hasContent ? Sample.content(content) : nil)
        })
    }
    var all: [AttachmentRecord] = []
    try bench.reader.attachments { record in
      all.append(record)
      return true
    }
    #expect(all.count == 300)
    return all
  }

  /// A criterion, and which attachments answer to it.
  private struct Criterion {
    var name: String
    var set: (inout AttachmentFilter) -> Void
    var answers: (AttachmentRecord) -> Bool
  }

  /// - Parameter present: the keys of those in whose message ann takes part.
  private func criteria(_ all: [AttachmentRecord], _ now: Int64, present: Set<Int64>) -> [Criterion] {
    let ids = Set(all.enumerated().filter { $0.offset % 7 == 3 }.map(\.element.origin.id))
    let middle = (Self.start + now) / 2
    return [
      Criterion(
        name: "ids", set: { $0.ids = ids.union(["nobody"]) }, answers: { ids.contains($0.origin.id) }),
      Criterion(
        name: "queued", set: { $0.statuses = [.queued] }, answers: { $0.outcome.status == .queued }),
      Criterion(
        name: "not completed", set: { $0.statuses = [.failed, .rejected, .cancelled] },
        answers: { [.failed, .rejected, .cancelled].contains($0.outcome.status) }),
      Criterion(
        name: "two", set: { $0.statuses = [.queued, .completed] },
        answers: { [.queued, .completed].contains($0.outcome.status) }),
      Criterion(name: "code", set: { $0.codes = ["x"] }, answers: { $0.outcome.reason?.code == "x" }),
      Criterion(
        name: "codes", set: { $0.codes = ["x", "z", "none"] },
        answers: { ["x", "z"].contains($0.outcome.reason?.code) }),
      Criterion(name: "no code", set: { $0.codes = [] }, answers: { _ in false }),
      Criterion(name: "stage", set: { $0.stage = "pdf" }, answers: { $0.outcome.reason?.stage == "pdf" }),
      Criterion(
        name: "type", set: { $0.mediaType = "image/*" },
        answers: { $0.outcome.mediaType?.hasPrefix("image/") == true }),
      Criterion(
        name: "conversation", set: { $0.conversationId = "d" }, answers: { $0.origin.conversationId == "d" }),
      Criterion(name: "message", set: { $0.messageId = "1" }, answers: { $0.origin.messageId == "1" }),
      Criterion(
        name: "message of one", set: { $0.messageId = all[7].origin.messageId },
        answers: { $0.origin.messageId == all[7].origin.messageId }),
      Criterion(
        name: "name", set: { $0.fileName = "[aé]*.p?f" },
        answers: { !$0.origin.fileName.hasPrefix("b") && $0.origin.fileName.hasSuffix(".pdf") }),
      Criterion(name: "sender", set: { $0.senderId = "ann" }, answers: { $0.origin.senderId == "ann" }),
      Criterion(
        name: "reference", set: { $0.reference = "order 3" }, answers: { $0.origin.reference == "order 3" }),
      Criterion(
        name: "at least", set: { $0.minimumSize = 5 },
        answers: { $0.outcome.sizeBytes.map { $0 >= 5 } ?? false }),
      Criterion(
        name: "at most", set: { $0.maximumSize = 5 },
        answers: { $0.outcome.sizeBytes.map { $0 <= 5 } ?? false }),
      Criterion(
        name: "source", set: { $0.sourceStart = Array(all[7].source.dropLast(5)) },
        answers: { $0.source.starts(with: all[7].source.dropLast(5)) }),
      Criterion(name: "link", set: { $0.hasLink = true }, answers: { _ in false }),
      Criterion(name: "since", set: { $0.since = middle }, answers: { $0.createdAt >= middle }),
      Criterion(name: "until", set: { $0.until = middle }, answers: { $0.createdAt < middle }),
      Criterion(
        name: "ended before", set: { $0.endedBefore = now - 2000 },
        answers: { $0.finishedAt.map { $0 < now - 2000 } ?? false }),
      Criterion(
        name: "content", set: { $0.sha256 = Sample.content(2) },
        answers: { $0.outcome.sha256 == Sample.content(2) }),
      Criterion(
        name: "participant", set: { $0.participant = "ann" },
        answers: { $0.origin.senderId == "ann" || present.contains($0.key) }),
    ]
  }

  /// The ids that all pages give; a page is at most so long.
  private func read(_ filter: AttachmentFilter, _ reader: some LedgerQueries, _ limit: Int) throws -> [String]
  {
    var (ids, mark) = ([String](), PageMark?.none)
    repeat {
      let page = try reader.matches(filter, after: mark, limit: limit)
      #expect(page.rows.count <= limit)
      let records = try reader.attachments(filter, after: mark, limit: limit)
      #expect(records.rows.map(\.origin.id) == page.rows.map(\.id) && records.next == page.next)
      #expect(records.rows.map(\.outcome.status) == page.rows.map(\.status))
      ids += page.rows.map(\.id)
      mark = page.next
    } while mark != nil
    return ids
  }

  @Test(arguments: Engine.allCases) func eachFilterGivesWhatAnswersToIt(engine: Engine) throws {
    let bench = try Bench(engine)
    let all = try fill(bench, seed: 3)
    let present = try all.filter { try bench.reader.participants(of: $0.key).contains("ann") }.map(\.key)
    #expect((20..<280).contains(present.count))
    let criteria = criteria(all, bench.time.now, present: Set(present))
    var some = 0
    for (index, first) in criteria.enumerated() {
      for second in criteria[index...] {
        var filter = AttachmentFilter()
        first.set(&filter)
        let isSame = first.name == second.name
        // Of two that set the same, the second counts.
        let overwrites = [
          ["queued", "not completed", "two"], ["code", "codes", "no code"], ["message", "message of one"],
        ].contains { $0.contains(first.name) && $0.contains(second.name) }
        second.set(&filter)
        let expected = all.filter { second.answers($0) && (overwrites || first.answers($0)) }.map(\.origin.id)
        if !expected.isEmpty { some += 1 }
        for limit in isSame ? [1, 7, 500] : [7] {
          let found = try read(filter, bench.reader, limit)
          #expect(found == expected, "\(first.name) and \(second.name) by \(limit)")
          filter.isNewestFirst = true
          let newest = try read(filter, bench.reader, limit)
          #expect(newest == expected.reversed(), "\(first.name) and \(second.name) by \(limit), newest first")
          filter.isNewestFirst = false
        }
      }
    }
    #expect(some > 60, "most find something: \(some)")
    #expect(try read(AttachmentFilter(), bench.reader, 7) == all.map(\.origin.id))
  }

  @Test(arguments: Engine.allCases) func aMarkThatIsNoneIsRefused(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a") { $0.events = [Sample.event()] }
    for text in ["", "x", "1", "1.", ".1", "1.2.3", "1.x", "99999999999999999999.1"] {
      expectError(.other) {
        _ = try bench.reader.matches(AttachmentFilter(), after: PageMark(text), limit: 1)
      }
    }
    for text in ["", "x", "1.5", "99999999999999999999"] {
      expectError(.other) {
        _ = try bench.reader.deliveries(DeliveryFilter(), after: PageMark(text), limit: 1)
      }
    }
  }

  @Test(arguments: Engine.allCases) func deliveriesAnswerToAFilter(engine: Engine) throws {
    let bench = try Bench(engine)
    var draw = RandomExchange(random: SplitMix(state: 5))
    for number in 0..<60 {
      try bench.end("\(number)") {
        $0.events = [Sample.event(["ann", "ben"], channels: ["events", "hook"])]
      }
    }
    for lane in [Sample.events, .channel("hook")] {
      for lease in try bench.claim(100, lane) {
        let reason = Reason(stage: "hook", code: draw.pick(["x", "y"]), message: "so")
        switch draw.number(0...3) {
        case 0: try bench.settle(lease, .delivered(key: Sample.key(lease)))
        case 1: try bench.settle(lease, .deadLetter(key: Sample.key(lease), reason: reason))
        case 2: try bench.settle(lease, .deliveryAgain(key: Sample.key(lease), after: 9000, reason: reason))
        default:
          try bench.command(.delivery(DeliveryCommand(key: Sample.key(lease), Sample.id(lease), .drop)))
        }
      }
    }
    let all = try bench.reader.deliveries(DeliveryFilter(), after: nil, limit: 1000).rows
    #expect(all.count == 240 && Set(all.map(\.status)) == Set(DeliveryStatus.allCases))
    #expect(all.map(\.key) == all.map(\.key).sorted())
    var sets = DeliveryStatus.allCases.map { Set([$0]) }
    sets += [[.pending, .dead], Set(DeliveryStatus.allCases), []]
    for statuses in sets {
      for (channel, codes, ids) in [
        (nil, nil, nil), ("hook", nil, nil), (nil, ["x"], nil), ("events", ["y"], nil),
        (nil, ["x", "y"], nil),
        (nil, ["none", "y"], nil), (nil, [], nil), (nil, nil, [all[7].id, String(all[99].attachmentId)]),
        ("hook", nil, [String]()),
      ] as [(String?, Set<String>?, [String]?)] {
        var filter = DeliveryFilter(statuses: statuses)
        (filter.channel, filter.codes, filter.ids) = (channel, codes, ids)
        let expected = all.filter {
          statuses.contains($0.status) && (channel == nil || channel == $0.channel)
            && (codes == nil || $0.code.map { codes?.contains($0) == true } == true)
            && (ids == nil || ids?.contains($0.id) == true || ids?.contains($0.attachmentId) == true)
        }
        for limit in [1, 7, 500] {
          var (keys, mark) = ([Int64](), PageMark?.none)
          repeat {
            let page = try bench.reader.deliveries(filter, after: mark, limit: limit)
            #expect(page.rows.count <= limit)
            keys += page.rows.map(\.key)
            mark = page.next
          } while mark != nil
          #expect(keys == expected.map(\.key), "\(statuses) \(channel ?? "") \(codes ?? []) by \(limit)")
        }
      }
    }
  }
}
