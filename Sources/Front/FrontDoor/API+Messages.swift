import LedgerPort

// What a service says of a message that is on record already.
extension API {
  /// Before its bytes come: once they are there, the ledger looks again. Users name none, and are not told whose a message is.
  func check(_ item: IntakeItem, _ role: AccessToken.Role) throws {
    guard role != .user, let id = item.messageId,
      let message = try ledger.message(id, of: item.conversationId),
      let problem = item.problem(joining: message)
    else { return }
    throw Problem.conflict(problem) ?? Problem(422, "refused", problem.message)
  }
}
