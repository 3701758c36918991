import Pipeline

/// The section `retry`: at the top for attachments and all channels, or in one channel.
struct RetrySection: Sendable {
  private var attempts: Int?
  private var backoff: Int64?
  private var max: Int64?

  /// `nil` if the section is empty or cannot be read.
  ///
  /// - Parameter standard: the values for omitted keys; `nil`: the schedule of deliveries.
  init?(_ node: Node, standard: RetryPolicy?, _ findings: inout Findings) {
    if node.isNull { return nil }
    guard let section = Section(node, keys: Grammar.retry) else {
      if case .unusable = node.content { return nil }
      findings.report(
        node.mark, "'retry' takes a map, not \(node.noun)",
        "write 'retry: { attempts: 3, backoff: 1s, max: 1m }'")
      return nil
    }
    section.reportUnknown(&findings)
    attempts = section.readOne(Grammar.attempts, &findings).map { Int($0.value.integer) }
    let backoff = section.readOne(Grammar.backoff, &findings)
    let max = section.readOne(Grammar.max, &findings)
    (self.backoff, self.max) = (backoff?.value.integer, max?.value.integer)
    // If one key is wrong already, do not report their comparison as well.
    let isWrong = (backoff == nil && section["backoff"] != nil) || (max == nil && section["max"] != nil)
    if isWrong || !section.unknown.isEmpty { return }
    check(backoff?.mark, max?.mark, section.mark, standard, &findings)
  }

  private func check(
    _ backoffMark: Mark?, _ maxMark: Mark?, _ mark: Mark, _ standard: RetryPolicy?, _ findings: inout Findings
  ) {
    guard let first = backoff ?? standard?.backoff,
      let longest = max ?? standard?.max, longest < first
    else { return }
    findings.report(
      maxMark ?? backoffMark ?? mark,
      "'max' is \(Interval.text(longest))" + (max == nil ? " by default" : "") + ", less than the "
        + "\(Interval.text(first)) of 'backoff'" + (backoff == nil ? " by default" : ""),
      "write 'max: \(Interval.text(first))' or more")
  }

  var policy: RetryPolicy {
    var policy = RetryPolicy()
    if let attempts { policy.attempts = attempts }
    if let backoff { policy.backoff = backoff }
    if let max { policy.max = max }
    return policy
  }

  var schedule: DeliverySchedule {
    var schedule = DeliverySchedule(backoff: backoff)
    if let attempts { schedule.attempts = attempts }
    if let max { schedule.max = max }
    return schedule
  }
}
