// Checks the attempts that led to each state, and their leases.
extension Check {
  /// The last attempt, which decided the state of an attachment, must be able to do so.
  func checkStates(_ ledger: Ledger) {
    for attachment in ledger.attachments where attachment.hasEnded {
      let steps = ledger.attempts[attachment.key] ?? []
      let last = steps.filter { $0.number == steps.last?.number }
      switch attachment.status {
      case "completed":
        if let step = last.first(where: { ["reject", "fail", "retry"].contains($0.verdict) }) {
          found(.stateUnexplained, attachment.name, "it is completed, and \(step.stage) said \(step.verdict)")
        }
        if last.isEmpty { found(.stateUnexplained, attachment.name, "it is completed, and no stage said so") }
      case "rejected":
        let isSaid = last.contains {
          $0.verdict != "pass" && $0.stage == attachment.reasonStage
            && ($0.code ?? "unexplained") == attachment.reasonCode
        }
        if !isSaid {
          let reason = "\(attachment.reasonStage ?? "none") with \(attachment.reasonCode ?? "no code")"
          found(
            .stateUnexplained, attachment.name, "it is rejected by \(reason), and no such step is on record")
        }
      default: break
      }
    }
  }

  /// A result is written in one transaction with one timestamp, and the ending together with the result of
  /// its attempt. So a second result under one number, a result after a later attempt's, or a result after
  /// the ending came from a lost lease. The leases of a coordinator are lost when it ends, and nothing may be
  /// recorded under them.
  func checkLeases(_ ledger: Ledger) {
    let rows = Dictionary(ledger.attachments.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    let jobs = Dictionary(
      ledger.jobs.compactMap { job in job.attachment.map { ($0, job) } },
      uniquingKeysWith: { first, _ in first })
    for (key, steps) in ledger.attempts.sorted(by: { $0.key < $1.key }) {
      guard let attachment = rows[key] else { continue }  // reported by the foreign key check
      let place = "\(attachment.name), attempt "
      var earlier: Ledger.Step?
      for step in steps {
        if let earlier, earlier.recorded > step.recorded {
          found(.resultStale, place + "\(earlier.number)", "it came after that of attempt \(step.number)")
        }
        earlier = step
      }
      guard let last = earlier else { continue }
      if let finished = attachment.finished, last.recorded > finished {
        found(.resultStale, place + "\(last.number)", "it came after the attachment was \(attachment.status)")
      }
      if attachment.status == "completed", let finished = attachment.finished, last.recorded < finished {
        found(
          .resultStale, place + "\(last.number)",
          "the attachment was completed later, by no attempt on record")
      }
      if let job = jobs[key] {
        if last.number > job.attempts {
          found(
            .leaseWrong, "job of \(job.name)",
            "it has begun \(job.attempts) attempts, and \(last.number) is on record")
        }
        if job.state == "leased" && last.number == job.attempts {
          found(
            .leaseWrong, "job of \(job.name)",
            "attempt \(last.number) is on record, and its lease is still held")
        }
      }
    }
    checkLostLeases(ledger, rows, jobs)
  }

  private func checkLostLeases(
    _ ledger: Ledger, _ rows: [Int64: Ledger.Attachment], _ jobs: [Int64: Ledger.Job]
  ) {
    for entry in seen["leases"] ?? [] {
      let holder = Int64(entry["holder"] as? Int ?? 0)
      if ledger.holder < holder {
        found(.leaseWrong, "ledger", "coordinator \(holder) had it, and now \(ledger.holder) is its last")
      }
      for lease in entry["jobs"] as? [[String: Any]] ?? [] {
        guard let key = (lease["attachment"] as? Int).map(Int64.init), let attachment = rows[key] else {
          continue
        }
        let attempts = Int64(lease["attempts"] as? Int ?? 0)
        let token = Int64(lease["token"] as? Int ?? 0)
        let holder = Int64(lease["holder"] as? Int ?? 0)
        if ledger.attempts[key]?.contains(where: { $0.number == attempts }) == true {
          found(
            .resultStale, "\(attachment.name), attempt \(attempts)",
            "its coordinator ended with it in hand, under token \(token)")
        }
        if let last = ledger.attempts[key]?.last, attachment.hasEnded, last.number < attempts {
          found(
            .resultStale, "\(attachment.name), attempt \(last.number)",
            "it gave the state, and attempt \(attempts) had been begun")
        }
        if let job = jobs[key], job.attempts < attempts || job.holder.map({ $0 < holder }) == true {
          found(
            .leaseWrong, "job of \(job.name)",
            "it was at attempt \(attempts) of coordinator \(holder), and is at \(job.attempts) of \(job.holder ?? 0)"
          )
        }
      }
    }
  }
}
