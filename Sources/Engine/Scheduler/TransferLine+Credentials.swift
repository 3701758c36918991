import LedgerPort
import Pipeline

// What is said to hosts that trust it, and what a refusal means.
extension TransferLine {
  func credentialName(of flight: Flight) -> String? {
    guard let link = flight.transfer?.link else { return nil }
    if let name = link.credential { return name }
    guard let name = definition.credential else { return nil }
    // One person's session is not shown for what another asks for, nor ended by that.
    if let owner = credentials[name]?.owner, let scope = link.scope, !scope.utf8.elementsEqual(owner.utf8) {
      return nil
    }
    return name
  }

  /// Whether a 401 says that the link is not for us, and nothing of a credential that is to be renewed.
  func isLinkAloneRefused(_ flight: Flight) -> Bool {
    guard let name = credentialName(of: flight), let credential = credentials[name] else { return true }
    guard credential.owner == nil, let user = flight.transfer?.link.scope else { return false }
    return !refusals.isRefused(by: flight.host, to: user)
  }

  /// Whether its credential has another header than the one that the server refused; one from a file is read again.
  func hasNewCredential(_ flight: Flight) -> Bool {
    guard let name = credentialName(of: flight), let credential = credentials[name] else { return false }
    if credential.header == flight.fetch.credentialHeader { readAgain(name) }
    return credentials[name]?.header != flight.fetch.credentialHeader
  }

  /// Reads the small file of a credential on the scheduler's thread, once for each pause or resume of the lane.
  private func readAgain(_ name: String) {
    guard let read = credentials[name]?.readAgain else { return }
    do throws(Credential.Unusable) {
      credentials[name]?.header = try read()
      unusable[name] = nil
    } catch {
      unusable[name] = error.reason
    }
  }

  /// A person has let the lane go on: that may be since a credential has been replaced.
  func readCredentialsAgain() {
    for name in credentials.keys { readAgain(name) }
  }
}
