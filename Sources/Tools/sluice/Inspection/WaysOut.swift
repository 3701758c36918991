import LedgerPort
import Pipeline
import Platform

/// What leads on from the state of an attachment and of its deliveries: sentences with the commands to give.
struct WaysOut {
  private(set) var sentences: [String] = []

  init(_ story: AttachmentStory) {
    if let place = story.place {
      add(queued: place, story)
    } else if [.rejected, .failed, .quarantined, .cancelled].contains(story.record.outcome.status) {
      if story.record.outcome.reason?.code == TransferRun.expired {
        sentences.append(
          "\(story.hint("refresh", "\(story.record.origin.id) LINK")) gives it a new link to the same bytes")
      }
      sentences.append(
        story.record.isCheck
          ? "its content was not kept; have that checked anew"
          : "\(story.hint("retry", story.record.origin.id)) queues it again")
    }
    add(deliveries: story)
  }

  private mutating func add(queued place: QueuePlace, _ story: AttachmentStory) {
    let (id, hint) = (story.record.origin.id, story.hint)
    if place.cancellation != nil {
      sentences.append(
        "it ends as cancelled as soon as it is its turn; \(hint("retry", id)) gives it to the stages again")
    } else if place.state == .scheduled && place.nextDue > 0 {
      sentences.append("\(hint("retry", id)) makes it due at once")
    } else if place.state == .waiting {
      sentences.append(
        "\(hint("now", id)) has its link fetched before all others; \(hint("retry", "downloads")) makes due what waits for a later try"
      )
    }
    let name = place.state == .waiting ? LaneName.downloads : .attachments
    if let lane = story.lanes.first(where: { $0.name == name }), let pause = lane.pause {
      sentences.append(PauseText.remedy(lane.name, pause, hint))
    }
    if story.use == .free { sentences.append("no coordinator is running; \(hint("run")) works the queue") }
  }

  private mutating func add(deliveries story: AttachmentStory) {
    let (id, hint) = (story.record.origin.id, story.hint)
    if story.deliveries.contains(where: { $0.status == .dead }) {
      sentences.append(
        "\(hint("dead-letters retry", id)) tries its dead deliveries again, \(hint("dead-letters drop", id)) gives them up"
      )
    }
    let pending = story.deliveries.filter { $0.status == .pending }
    for channel in Set(pending.map(\.channel)).sorted() {
      let name = LaneName.channel(channel)
      if let pause = story.lanes.first(where: { $0.name == name })?.pause {
        sentences.append(
          "lane \(Terminal.printable(name.description)) is paused \(PauseText.text(pause)); "
            + PauseText.remedy(name, pause, hint))
      } else if pending.contains(where: { $0.channel == channel && $0.nextDue ?? 0 > 0 }) {
        sentences.append(
          "\(hint("retry", ShellWord.of(name.description))) makes due at once what waits in lane "
            + Terminal.printable(name.description))
      }
    }
    if !pending.isEmpty && story.place == nil && story.use == .free {
      sentences.append("no coordinator is running; \(hint("run")) makes the deliveries")
    }
  }
}
