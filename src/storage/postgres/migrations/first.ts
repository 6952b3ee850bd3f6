/**
 * Migration 1: every table, so that no later release redraws them. `{schema}` stands for the quoted schema.
 *
 * - No foreign keys: they cost a third of a fire, and prune deletes children itself.
 * - `json`, not `jsonb`: cheaper to read back, and the bytes stay what they were.
 * - Owed is `completed_at is null`, and nothing else: neither a claim nor a renewal touches a column of any index or
 *   index predicate, so both are heap-only updates, and the half-empty pages keep room for them.
 * - Statistics mislead on a table that is empty most of the time. `deliveries` never shrinks below the pages that the
 *   last statements here give it, so no plan, however old, finds it worth reading from end to end.
 */
export const FIRST = `
create table {schema}.events (
  id uuid not null,
  recorded_at timestamptz not null,
  occurred_at timestamptz not null,
  version int not null,
  retention_seconds bigint,
  name text not null,
  key text,
  topic text,
  payload json not null,
  actor text,
  actor_label text,
  scope json,
  correlation_id text,
  causation_id text,
  trace json,
  dedupe_key text,
  suppressed_reason text,
  delete_when text check (delete_when in ('succeeded', 'settled')),
  constraint events_pkey primary key (id),
  constraint events_retention check (retention_seconds is null or delete_when is null)
) with (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000);

create unique index events_dedupe on {schema}.events (name, dedupe_key) where dedupe_key is not null;
create index events_correlation on {schema}.events (correlation_id) where correlation_id is not null;
create index events_causation on {schema}.events (causation_id) where causation_id is not null;
create index events_own_retention on {schema}.events (recorded_at) where retention_seconds is not null;
create index events_policy on {schema}.events (delete_when, recorded_at) where delete_when is not null;

create table {schema}.deliveries (
  id bigint generated always as identity,
  event_id uuid not null,
  available_at timestamptz not null,
  owed_since timestamptz not null,
  leased_until timestamptz,
  claimed_at timestamptz,
  completed_at timestamptz,
  due_at timestamptz,
  attempts int not null default 0,
  max_attempts int not null,
  lapses int not null default 0,
  status text not null default 'pending',
  receiver_key text not null,
  target text not null default '',
  target_digest bytea,
  order_key text collate "C",
  claimed_by text,
  last_error text,
  constraint deliveries_pkey primary key (id),
  constraint deliveries_status check (status in ('pending', 'failed', 'dead', 'orphaned', 'cancelled')),
  constraint deliveries_completed check ((completed_at is null) = (status in ('pending', 'failed')))
) with (
  fillfactor = 45,
  vacuum_truncate = off,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_cost_delay = 0
);

create unique index deliveries_event on {schema}.deliveries (event_id, receiver_key, target_digest) nulls not distinct;
create index deliveries_owed on {schema}.deliveries (receiver_key, available_at, id) where completed_at is null;
create index deliveries_ordered on {schema}.deliveries (receiver_key, order_key, id)
  where completed_at is null and order_key is not null;
create index deliveries_ended on {schema}.deliveries (receiver_key, status, id) where completed_at is not null;

create table {schema}.history (
  id bigint not null,
  event_id uuid not null,
  available_at timestamptz not null,
  owed_since timestamptz not null,
  claimed_at timestamptz,
  succeeded_at timestamptz not null,
  due_at timestamptz,
  attempts int not null,
  max_attempts int not null,
  lapses int not null,
  receiver_key text not null,
  target text not null default '',
  target_digest bytea,
  order_key text collate "C",
  claimed_by text,
  last_error text
) with (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000);

-- None is unique: an acknowledgement must not be able to fail on a constraint.
create index history_id on {schema}.history (id);
create index history_event on {schema}.history (event_id);
-- Rows come in the order of this column, so the index costs nothing; one by receiver cost a tenth of every delivery.
create index history_succeeded on {schema}.history using brin (succeeded_at) with (autosummarize = on);

create view {schema}.every_delivery as
  select id, event_id, receiver_key, target,
    case when completed_at is null and leased_until > statement_timestamp() then 'claimed' else status end as status,
    status as stored_status, attempts, max_attempts, lapses, available_at, due_at, owed_since,
    claimed_by, claimed_at, leased_until, completed_at, last_error
  from {schema}.deliveries
  union all
  select id, event_id, receiver_key, target, 'succeeded', 'succeeded', attempts, max_attempts, lapses, available_at,
    due_at, owed_since, claimed_by, claimed_at, null, succeeded_at, last_error
  from {schema}.history;

create table {schema}.receiver_successes (
  receiver_key text primary key,
  last_succeeded_at timestamptz not null
);

create table {schema}.receivers (
  receiver_key text not null,
  app text not null,
  release text not null,
  last_seen timestamptz not null,
  primary key (receiver_key, app)
) with (fillfactor = 50);

create table {schema}.inbox (
  id bigint generated always as identity primary key,
  consumer text not null,
  message_id text not null,
  received_at timestamptz not null,
  available_at timestamptz not null,
  leased_until timestamptz,
  claimed_at timestamptz,
  completed_at timestamptz,
  attempts int not null default 0,
  max_attempts int not null,
  lapses int not null default 0,
  status text not null default 'pending',
  topic text,
  version int,
  key text collate "C",
  claimed_by text,
  last_error text,
  body bytea,
  headers json,
  constraint inbox_message unique (consumer, message_id),
  constraint inbox_status check (
    status in ('pending', 'claimed', 'parked', 'processed', 'stale', 'ignored', 'dead', 'discarded')
  )
) with (fillfactor = 70, vacuum_truncate = off, autovacuum_vacuum_cost_delay = 0);

create index inbox_owed on {schema}.inbox (consumer, available_at, id) where completed_at is null;
create index inbox_completed on {schema}.inbox (completed_at) where completed_at is not null;

create table {schema}.ranks (
  consumer text not null,
  key text collate "C" not null,
  rank bigint not null,
  message_id text not null,
  updated_at timestamptz not null,
  primary key (consumer, key)
) with (fillfactor = 70);

create table {schema}.dead_messages (
  id bigint generated always as identity primary key,
  consumer text not null,
  message_id text not null,
  topic text,
  version int,
  key text collate "C",
  reason text not null,
  error text,
  attempts int not null,
  received_at timestamptz not null,
  died_at timestamptz not null,
  body bytea,
  headers json
);

create index dead_messages_consumer on {schema}.dead_messages (consumer, reason, died_at);
create index dead_messages_message on {schema}.dead_messages (consumer, message_id);

create table {schema}.consumers_seen (
  consumer text not null,
  topic text not null,
  version int not null,
  last_seen timestamptz not null,
  primary key (consumer, topic, version)
) with (fillfactor = 50);

insert into {schema}.deliveries (id, event_id, available_at, owed_since, max_attempts, receiver_key)
  overriding system value
  select -n, gen_random_uuid(), statement_timestamp(), statement_timestamp(), 1, 'owed' from generate_series(1, 3000) n;
delete from {schema}.deliveries;
`;
