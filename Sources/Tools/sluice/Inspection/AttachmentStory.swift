import HomeFolder
import LedgerPort
import Pipeline
import Platform

/// What `sluice show` prints of an attachment.
struct AttachmentStory {
  var record: AttachmentRecord
  var attempts: [AttemptRecord]
  var deliveries: [DeliveryRecord]
  /// `nil`: it is not queued.
  var place: QueuePlace?
  var lanes: [LedgerStatus.Lane]
  var children: ChildrenText
  /// The name of the file that it was taken out of; `nil`: it was taken out of none.
  var parentName: String?
  /// Whether a coordinator is at work.
  var use: Home.Use
  var hint: Hint
  /// In milliseconds since 1970.
  var now: Int64

  // MARK: For people

  func text(_ style: Style) throws -> String {
    var text = facts(style).map { "\(Help.pad($0.name, 14))\($0.value)\n" }.joined()
    let metadata = try MetadataText.members(record.outcome.metadata)
    if !metadata.isEmpty {
      let width = metadata.map(\.key.count).max() ?? 0
      text += "\nMetadata\n"
      for (key, value) in metadata { text += "  \(Help.pad(key, width))  \(Terminal.printable(value))\n" }
    }
    if !record.outcome.derived.isEmpty {
      let width = record.outcome.derived.map(\.name.count).max() ?? 0
      text += "\nDerived\n"
      for object in record.outcome.derived {
        text +=
          "  \(Help.pad(object.name, width))  \(object.mediaType)  \(ByteSize.rounded(object.sizeBytes))"
        text += "  \(object.url)\n"
      }
    }
    text += children.text(style, hint)
    if !attempts.isEmpty {
      text += "\nAttempts\n" + attempts.map { attempt($0, style) }.joined()
    }
    if !deliveries.isEmpty {
      text += "\nDeliveries\n" + deliveries.map { delivery($0, style) }.joined()
    }
    let ways = WaysOut(self).sentences
    if !ways.isEmpty { text += "\nNext\n" + ways.map { "  \($0)\n" }.joined() }
    return text
  }

  private func facts(_ style: Style) -> [(name: String, value: String)] {
    var facts = [("id", record.origin.id), ("status", style.word(record.outcome.status.rawValue))]
    if let reason = record.outcome.reason {
      facts.append(("reason", "\(reason.stage): \(RecordText.reason(reason.code, reason.message))"))
    }
    if let place { facts += standing(place) }
    facts += [
      ("file name", Terminal.printable(record.origin.fileName)),
      ("source", Terminal.printable(record.sourceName)),
      ("conversation", Terminal.printable(record.origin.conversationId)),
      ("message", Terminal.printable(record.origin.messageId)),
      ("sender", Terminal.printable(record.origin.senderId)),
    ]
    if let reference = record.origin.reference { facts.append(("reference", Terminal.printable(reference))) }
    if let parent = record.origin.parentId {
      let name = parentName.map { "  \(Terminal.printable($0))" }
      facts.append(("taken out of", parent + (name ?? "")))
    }
    if let trace = record.origin.traceparent { facts.append(("traceparent", Terminal.printable(trace))) }
    if let mediaType = record.outcome.mediaType {
      facts.append(("media type", Terminal.printable(mediaType)))
    }
    if let size = record.outcome.sizeBytes {
      facts.append(("size", "\(ByteSize.rounded(size)) (\(Count.text(size, "byte")))"))
    }
    if let sha256 = record.outcome.sha256 { facts.append(("sha256", Hexadecimal.text(sha256))) }
    if let url = record.outcome.url { facts.append(("url", Terminal.printable(url))) }
    if let kept = record.keptObject {
      facts.append(("kept object", "\(Terminal.printable(kept)), until another takes its place"))
    }
    facts.append(("taken in", Clock.timestamp(record.createdAt)))
    if let finishedAt = record.finishedAt { facts.append(("ended", Clock.timestamp(finishedAt))) }
    return facts
  }

  /// Where it stands in the queue.
  private func standing(_ place: QueuePlace) -> [(name: String, value: String)] {
    let begun = Count.text(place.attempts, "attempt")
    let state =
      switch place.state {
      case .leased: "being worked on, attempt \(place.attempts)"
      case .scheduled where place.nextDue > 0:
        "waits until \(Clock.timestamp(now + place.nextDue)) (\(Age.text(milliseconds: place.nextDue))), after \(begun)"
      case .expanded: "waits until the contents that were taken out of it have ended"
      case .waiting: "waits until its link is fetched; `sluice downloads` tells how far that is"
      case .due, .scheduled: place.attempts == 0 ? "due" : "due, after \(begun)"
      }
    var facts = [("queue", "\(state); priority \(place.priority)")]
    if let reason = place.cancellation { facts.append(("cancelled", Terminal.printable(reason))) }
    let lane = place.state == .waiting ? LaneName.downloads : .attachments
    if let pause = lanes.first(where: { $0.name == lane })?.pause {
      facts.append(("lane", "paused \(PauseText.text(pause))"))
    }
    return facts
  }

  private func attempt(_ attempt: AttemptRecord, _ style: Style) -> String {
    let step = attempt.step
    let width = attempts.map(\.step.stage.count).max() ?? 0
    let verdicts = attempts.map(\.step.verdict.count).max() ?? 0
    var line = "  \(attempt.number)  \(Clock.timestamp(attempt.recordedAt))  \(Help.pad(step.stage, width))"
    line += "  \(style.word(step.verdict, width: verdicts))"
    line += "  \(Decimal.text(Double(step.microseconds) / 1000, 3)) ms"
    if let code = step.code { line += "  \(RecordText.reason(code, step.message))" }
    return line + "\n"
  }

  private func delivery(_ delivery: DeliveryRecord, _ style: Style) -> String {
    var line = "  \(delivery.id)  \(Terminal.printable(delivery.type))"
    line += "  \(Terminal.printable(delivery.channel))"
    line += "  to \(Terminal.printable(delivery.recipient))  \(style.word(delivery.status.rawValue))"
    if let finishedAt = delivery.finishedAt { line += " \(Clock.timestamp(finishedAt))" }
    if let nextDue = delivery.nextDue, delivery.attempts > 0 || nextDue > 0 {
      line += ", \(Count.text(delivery.attempts, "try", "tries")) begun"
      if nextDue > 0 { line += ", next at \(Clock.timestamp(now + nextDue))" }
    }
    if let code = delivery.code {
      line += ": \(RecordText.reason(code, delivery.reason))"
    } else if let reason = delivery.reason {
      line += ": \(Terminal.printable(reason))"
    }
    return line + "\n"
  }

  // MARK: For programs

  /// The record that `sluice list` prints, with its history.
  var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      RecordText.members(record, &writer)
      if let parentName { writer.member("parentFileName", parentName) }
      writer.member("createdAt", Clock.timestamp(record.createdAt))
      writer.member("finishedAt", record.finishedAt.map(Clock.timestamp))
      children.write(to: &writer)
      writer.key("attempts")
      writer.array { writer in
        for attempt in attempts {
          writer.object { attempt.write(to: &$0) }
        }
      }
      writer.key("deliveries")
      writer.array { writer in
        for delivery in deliveries {
          writer.object { delivery.write(to: &$0, at: now) }
        }
      }
      writer.key("queue")
      queue(&writer)
      writer.key("next")
      writer.array { writer in for way in WaysOut(self).sentences { writer.value(way) } }
    }
    return writer.text + "\n"
  }

  /// Where it stands in the queue, or null.
  private func queue(_ writer: inout JSONWriter) {
    guard let place else { return writer.value(nil as String?) }
    writer.object { writer in
      writer.member("state", place.state.rawValue)
      writer.member("dueAt", place.nextDue > 0 ? Clock.timestamp(now + place.nextDue) : nil)
      writer.member("priority", place.priority)
      writer.member("attempts", Int64(place.attempts))
      writer.member("cancellation", place.cancellation)
      writer.key("paused")
      guard let pause = lanes.first(where: { $0.name == .attachments })?.pause else {
        return writer.value(nil as String?)
      }
      writer.object { pause.write(to: &$0) }
    }
  }
}
