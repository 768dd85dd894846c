export {
  type PostgresOptions,
  type PostgresRow,
  PostgresServer,
  type RelationFiles,
  startPostgres,
} from './postgres.ts';
export { binariesPackage, postgresIsInstalled } from './postgres-binaries.ts';
