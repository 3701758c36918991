import LedgerPort
import Pipeline

// A new link for a transfer with an expired link: the same bytes at another place.
extension LedgerRows {
  /// Replaces the link of a transfer, for all its attachments. If another transfer has the new link already, the attachments join
  /// that transfer, as an intake with the new link would have done.
  ///
  /// The attachments keep their identities: a second intake of the old manifest finds all of them known.
  mutating func refresh(_ request: RefreshCommand, _ tally: inout ExchangeTally) throws(Failure)
    -> CommandResult
  {
    guard hasSealer else {
      return .refused(
        "links are sealed by a key that the pipeline names: start `sluice run` with a pipeline that has "
          + "'lanes: { downloads: … }', or give one with --config")
    }
    let attachment = try fact(ofAttachment: request.attachmentId, at: tally.time)
    let link: Link
    let found = try linkFact(ofAttachment: attachment?.isDeleted == false ? attachment?.key : nil)
    switch RefreshDecision.decide(request, try fact(attachment, found)) {
    case .refused(let reason): return .refused(reason)
    case .give(let new): link = new
    }
    guard let named = attachment?.key, let found, let old = found.link, let identity = try identity(of: link)
    else { return .done(hasChanged: false) }
    let known = try transfer(withIdentity: identity)
    // The attachment waits for this link already.
    if known == found.transfer, try job(JobKey(.attachment, named))?.state == .waiting {
      return .done(hasChanged: false)
    }
    tally.touch(.downloads)
    tally.touch(.attachments)
    let sharers = try attachments(of: found.transfer)
    let target = known ?? found.transfer
    if known == nil {
      try setLink(
        target, link, identity: identity, RefreshDecision.state(found.state, from: old, to: link))
    } else if target != found.transfer {
      try moveLinks(of: found.transfer, to: target)
    }
    try nameSources(of: target, Array(link.name.utf8))
    for sharer in sharers { try wait(sharer, for: target, isNamed: sharer == named, &tally) }
    let job = JobKey(.transfer, target)
    // From now on the running lease counts only if it brings the whole content.
    if known == nil, case .leased? = try self.job(job)?.state {
      try setCancellation(job, "its link was replaced")
      tally.unwanted.append(target)
    }
    try hasten(job, tally.time)
    if target != found.transfer { try leave(transfer: found.transfer, &tally) }
    return .done(hasChanged: true)
  }

  private func fact(_ attachment: AttachmentDecision.Fact?, _ link: LinkFact?) throws(Failure)
    -> RefreshDecision.Fact?
  {
    guard let attachment else { return nil }
    if attachment.isDeleted { return .deleted }
    var isWorkedOn = false
    if case .leased? = try job(JobKey(.attachment, attachment.key))?.state { isWorkedOn = true }
    return RefreshDecision.Fact(
      status: attachment.status, isWorkedOn: isWorkedOn,
      transfer: link.map { .init(isFetched: $0.isFetched, link: $0.link) })
  }

  /// Lets an attachment without its content wait for the transfer again: the named attachment, the queued ones, and the ones
  /// that ended because of the link.
  private mutating func wait(
    _ key: Int64, for transfer: Int64, isNamed: Bool, _ tally: inout ExchangeTally
  ) throws(Failure) {
    guard let row = try attachment(key) else { return }
    let job = JobKey(.attachment, key)
    guard let queued = try self.job(job) else {
      let isUnfetched =
        [.rejected, .failed].contains(row.status) && row.reason?.stage == TransferRun.stage
      if isUnfetched || (isNamed && row.status != .completed) { try queueAgain(key, &tally) }
      return
    }
    // A running attempt ends with its old content, and a cancelled attachment stays cancelled.
    if case .leased = queued.state { return }
    if queued.cancellation != nil {
      if !isNamed { return }
      try setCancellation(job, nil)
    }
    if try fetched(transfer).isHere {
      if queued.state == .waiting { try setJob(job, .due, uncounted: 0, crashes: 0) }
    } else {
      try setJob(job, .waiting, uncounted: 0, crashes: 0)
      try queueTransfer(transfer, priority: queued.priority, tally.time)
    }
    tally.changed.add(attachment: key)
  }
}
