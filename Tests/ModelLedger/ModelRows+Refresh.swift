import LedgerPort
import LedgerRules
import Pipeline

// A new link for a transfer.
extension ModelRows {
  mutating func apply(_ request: RefreshCommand, _ tally: inout ModelTally) -> CommandResult {
    let key = keysById[request.attachmentId]
    var fact: RefreshDecision.Fact?
    var isWaiting = false
    if let key, let attachment = attachments[key] {
      let job = attachment.job.flatMap { jobs[$0] }
      isWaiting = job?.isWaiting == true
      fact = .init(
        status: attachment.outcome.status, isWorkedOn: job?.token != nil,
        transfer: attachment.transfer.flatMap { transfers[$0] }.map {
          .init(isFetched: $0.fetched != nil, link: $0.link)
        })
    } else if tombstones.contains(where: { $0.id == request.attachmentId }) {
      fact = .deleted
    }
    let link: Link
    switch RefreshDecision.decide(request, fact) {
    case .refused(let reason): return .refused(reason)
    case .give(let new): link = new
    }
    guard let key, let own = attachments[key]?.transfer, let old = transfers[own] else {
      return .done(hasChanged: false)
    }
    let identity = Self.identity(of: link, tally.maker.hash)
    let known = transfers.first { $0.value.identity == identity }?.key
    if known == own && isWaiting { return .done(hasChanged: false) }
    tally.touch(.downloads)
    tally.touch(.attachments)
    let sharers = attachments(of: own)
    let target = known ?? own
    if known == nil {
      transfers[own]?.identity = identity
      transfers[own]?.host = (try? PlainSealer().host(of: link)) ?? 0
      transfers[own]?.link = link
      transfers[own]?.state = RefreshDecision.state(old.state, from: old.link, to: link)
    } else if target != own {
      for sharer in sharers { attachments[sharer]?.transfer = target }
      transfers[own]?.attachments = []
      transfers[target]?.attachments.formUnion(sharers)
    }
    for sharer in attachments(of: target) {
      guard case .file(_, _, let size, let modified, let device)? = attachments[sharer]?.source else {
        continue
      }
      attachments[sharer]?.source = .file(
        host: nil, path: Array(link.name.utf8), size: size, modified: modified, folderDevice: device)
    }
    for sharer in sharers { wait(sharer, for: target, isNamed: sharer == key, &tally) }
    if let job = transfers[target]?.job {
      if known == nil && jobs[job]?.token != nil {
        jobs[job]?.cancellation = "its link was replaced"
        tally.unwanted.append(target)
      }
      hasten(job, tally.now)
    }
    if target != own { leave(own, &tally) }
    return .done(hasChanged: true)
  }

  private mutating func wait(
    _ key: Int64, for transfer: Int64, isNamed: Bool, _ tally: inout ModelTally
  ) {
    guard let attachment = attachments[key] else { return }
    let outcome = attachment.outcome
    guard let number = attachment.job, let job = jobs[number] else {
      let isUnfetched = [.rejected, .failed].contains(outcome.status) && outcome.reason?.stage == "downloads"
      if isUnfetched || (isNamed && outcome.status != .completed) { queueAgain(key, &tally) }
      return
    }
    if job.token != nil || (job.cancellation != nil && !isNamed) { return }
    jobs[number]?.cancellation = nil
    if transfers[transfer]?.fetched != nil {
      jobs[number]?.isWaiting = false
    } else {
      jobs[number]?.dueAt = nil
      waitForTransfer(job, transfer)
    }
    tally.changed.append(.attachment(key))
  }
}
