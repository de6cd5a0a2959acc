/** The kinds of channels for people, each by the section of the settings file that names such channels. */

export interface PeopleKindWords {
  /** The name that people know the kind by. */
  readonly title: string;
  /** How a person gets the address of a channel. */
  readonly how: string;
  /** The field of the settings file that has its address. */
  readonly address?: 'smtpUrl';
  /** The variable that makes the channel named `default`; null: only the file names channels. */
  readonly variable: 'SLACK_WEBHOOK_URL' | null;
  /** Whether the messages of a channel within an hour are limited (`maxPerHour`). */
  readonly isLimited: boolean;
  /** The receiver shows open incidents and no messages: it gets incidents alone, and each again every minute while it is open. */
  readonly showsPresent?: true;
}

const words = {
  slack: {
    title: 'Slack',
    how: 'make an incoming webhook in Slack (Apps, Incoming Webhooks)',
    variable: 'SLACK_WEBHOOK_URL',
    isLimited: true,
  },
  teams: {
    title: 'Microsoft Teams',
    how: 'make a workflow in Teams that begins "when a Teams webhook request is received"',
    variable: null,
    isLimited: true,
  },
  email: {
    title: 'E-mail',
    how: 'take the address of an SMTP server with the user and the password of a mailbox',
    address: 'smtpUrl',
    variable: null,
    isLimited: true,
  },
  alerts: {
    title: 'Alert webhook',
    how: 'have the system that pages people take Standard Webhooks, directly or through a bridge,',
    variable: null,
    isLimited: false,
  },
  alertmanager: {
    title: 'Alertmanager',
    how: 'take the address of an Alertmanager, without /api/v2/alerts,',
    variable: null,
    isLimited: false,
    showsPresent: true,
  },
} satisfies Record<string, PeopleKindWords>;

export type PeopleKind = keyof typeof words;
export const PEOPLE_KINDS: Readonly<Record<PeopleKind, PeopleKindWords>> = words;
export const PEOPLE_KIND_NAMES = Object.keys(words) as PeopleKind[];

/** The title of a kind by its stored name; null for one that is not for people. */
export function titleOfKind(kind: string | null): string | null {
  return (PEOPLE_KINDS as Readonly<Record<string, PeopleKindWords>>)[kind ?? '']?.title ?? null;
}
