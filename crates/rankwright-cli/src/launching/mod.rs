//! Shared code of commands that start jobs or write launch files. A [`prepared`] placement becomes
//! the library's `Launch`; its [`files`] go into a folder of the [user's](user_folder), or into a
//! temporary folder if the job is [`started`] here.

pub(crate) mod every_node;
pub(crate) mod files;
pub(crate) mod lab;
pub(crate) mod launch_line;
pub(crate) mod made_for;
pub(crate) mod network_stack;
pub(crate) mod prepared;
pub(crate) mod preview;
pub(crate) mod started;
pub(crate) mod unknown_hosts;
pub(crate) mod user_folder;
